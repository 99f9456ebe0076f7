"""Weights of the transformers library's models, in the models of this package."""

import re

import numpy as np


class Weights:
    """The weights of one of their models, by the end of a name or a pattern of it."""

    def __init__(self, model):
        self.arrays = {
            name: tensor.detach().cpu().numpy()
            for name, tensor in model.named_parameters()
        }

    def __call__(self, pattern):
        found = [name for name in self.arrays if re.search(f"(^|\\.){pattern}$", name)]
        assert len(found) == 1, (pattern, found, list(self.arrays))
        return self.arrays[found[0]]

    def dense(self, layer, pattern, transpose=True):
        kernel = self(pattern + r"\.weight")
        kernel = kernel.T if transpose else kernel
        layer.kernel.assign(kernel.reshape(layer.kernel.shape))
        layer.bias.assign(self(pattern + r"\.bias").reshape(layer.bias.shape))

    def norm(self, layer, pattern):
        layer.gamma.assign(self(pattern + r"\.weight"))
        layer.beta.assign(self(pattern + r"\.bias"))

    def attention(self, layer, query, key, value, output):
        self.dense(layer.query_dense, query)
        self.dense(layer.key_dense, key)
        self.dense(layer.value_dense, value)
        self.dense(layer.output_dense, output)


def randomized(model, seed=0):
    """Their model with random biases and norms: their own begin at 0 and 1."""
    import torch

    generator = torch.Generator("cpu").manual_seed(seed)
    with torch.no_grad():
        for tensor in model.parameters():
            noise = torch.randn(tensor.shape, generator=generator, device="cpu")
            tensor.add_(0.2 * noise.to(tensor.device))
    return model.eval()


def copy_bert(theirs, encoder):
    """From `BertModel`, or a model that holds one, to an `Encoder`."""
    weights, parts = Weights(theirs), encoder.parts
    parts.embedding.embeddings.assign(weights(r"word_embeddings\.weight"))
    parts.segments.embeddings.assign(weights(r"token_type_embeddings\.weight"))
    positions = weights(r"position_embeddings\.weight")
    parts.embedder.position.embeddings.assign(positions)
    weights.norm(parts.embedder.norm, r"embeddings\.LayerNorm")
    for i, block in enumerate(parts.stack.blocks):
        at = rf"layer\.{i}\."
        own = (at + rf"attention\.self\.{name}" for name in ("query", "key", "value"))
        output = at + r"attention\.output\.dense"
        weights.attention(block.self_attention, *own, output)
        norm = at + r"attention\.output\.LayerNorm"
        weights.norm(block.self_attention_residual.norm, norm)
        weights.dense(block.feed_forward.intermediate, at + r"intermediate\.dense")
        weights.dense(block.feed_forward.output_dense, at + r"output\.dense")
        weights.norm(block.feed_forward_residual.norm, at + r"output\.LayerNorm")
    return weights


def copy_gpt2(theirs, model):
    """From `GPT2LMHeadModel` to a `LanguageModel`."""
    weights, parts = Weights(theirs), model.parts
    parts.embedding.embeddings.assign(weights(r"wte\.weight"))
    parts.embedder.position.embeddings.assign(weights(r"wpe\.weight"))
    for i, block in enumerate(parts.blocks):
        at, attention = rf"h\.{i}\.", block.self_attention
        kernels = np.split(weights(at + r"attn\.c_attn\.weight"), 3, axis=1)
        biases = np.split(weights(at + r"attn\.c_attn\.bias"), 3)
        layers = attention.query_dense, attention.key_dense, attention.value_dense
        for layer, kernel, bias in zip(layers, kernels, biases, strict=True):
            layer.kernel.assign(kernel.reshape(layer.kernel.shape))
            layer.bias.assign(bias.reshape(layer.bias.shape))
        weights.dense(attention.output_dense, at + r"attn\.c_proj", transpose=False)
        network = block.feed_forward
        weights.dense(network.intermediate, at + r"mlp\.c_fc", transpose=False)
        weights.dense(network.output_dense, at + r"mlp\.c_proj", transpose=False)
        weights.norm(block.self_attention_residual.norm, at + "ln_1")
        weights.norm(block.feed_forward_residual.norm, at + "ln_2")
    weights.norm(parts.norm, "ln_f")


def copy_vit(theirs, model):
    """From `ViTForImageClassification` to an `ImageClassifier`."""
    weights, parts = Weights(theirs), model.parts
    parts.class_token.token.assign(weights("cls_token")[0, 0])
    parts.position.embeddings.assign(weights("position_embeddings")[0])
    kernel = weights(r"projection\.weight")  # (hidden_dim, channels, P, P)
    dense = parts.patches.projection
    dense.kernel.assign(kernel.transpose(2, 3, 1, 0).reshape(dense.kernel.shape))
    dense.bias.assign(weights(r"projection\.bias"))
    for i, block in enumerate(parts.stack.blocks):
        # The names of version 5, or of version 4.
        at = rf"layers?\.{i}\."
        own = (
            at + rf"attention(\.{name[0]}_proj|\.attention\.{name})"
            for name in ("query", "key", "value")
        )
        output = at + r"attention\.(o_proj|output\.dense)"
        weights.attention(block.self_attention, *own, output)
        network = block.feed_forward
        weights.dense(network.intermediate, at + r"(mlp\.fc1|intermediate\.dense)")
        weights.dense(network.output_dense, at + r"(mlp\.fc2|output\.dense)")
        weights.norm(block.self_attention_residual.norm, at + "layernorm_before")
        weights.norm(block.feed_forward_residual.norm, at + "layernorm_after")
    weights.norm(parts.stack.norm, "layernorm")
    weights.dense(parts.head, "classifier")
