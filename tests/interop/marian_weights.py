"""A `Transformer`'s weights in the Marian model of the transformers library."""

import numpy as np
import torch
from transformers import MarianConfig, MarianMTModel

from tests.backends import array_of


def marian_model(model, max_length=64):
    """Copy a post-norm `Transformer` with ReLU and one table, positions included."""
    options = model.options
    encoders, decoders = options["num_layers"]
    config = MarianConfig(
        vocab_size=options["vocabulary_size"],
        d_model=options["hidden_dim"],
        encoder_layers=encoders,
        decoder_layers=decoders,
        encoder_attention_heads=options["num_heads"],
        decoder_attention_heads=options["num_heads"],
        encoder_ffn_dim=options["intermediate_dim"],
        decoder_ffn_dim=options["intermediate_dim"],
        activation_function="relu",
        max_position_embeddings=max_length,
        scale_embedding=True,
        pad_token_id=model.pad_id,
        eos_token_id=model.end_id,
        forced_eos_token_id=None,
        decoder_start_token_id=model.start_id,
    )
    theirs = MarianMTModel(config).eval()
    parts, inner = model.parts, theirs.model
    with torch.no_grad():
        copy(inner.shared.weight, parts.source_embedding.embeddings)
        theirs.tie_weights()
        theirs.final_logits_bias.zero_()
        for stack in (inner.encoder, inner.decoder):
            positions = parts.source.position.encode(max_length, options["hidden_dim"])
            copy(stack.embed_positions.weight, positions)
        for block, layer in zip(
            parts.encoder_blocks, inner.encoder.layers, strict=True
        ):
            copy_block(block, layer)
        for block, layer in zip(
            parts.decoder_blocks, inner.decoder.layers, strict=True
        ):
            copy_block(block, layer)
            copy_attention(block.cross_attention, layer.encoder_attn)
            copy_norm(block.cross_attention_residual, layer.encoder_attn_layer_norm)
    return theirs


def copy(parameter, array):
    parameter.copy_(torch.tensor(np.array(array_of(array)), device="cpu"))


def copy_block(block, layer):
    copy_attention(block.self_attention, layer.self_attn)
    copy_norm(block.self_attention_residual, layer.self_attn_layer_norm)
    copy_linear(block.feed_forward.intermediate, layer.fc1)
    copy_linear(block.feed_forward.output_dense, layer.fc2)
    copy_norm(block.feed_forward_residual, layer.final_layer_norm)


def copy_attention(attention, theirs):
    for ours, linear in (
        (attention.query_dense, theirs.q_proj),
        (attention.key_dense, theirs.k_proj),
        (attention.value_dense, theirs.v_proj),
        (attention.output_dense, theirs.out_proj),
    ):
        copy_linear(ours, linear)


def copy_linear(layer, linear):
    outputs, inputs = linear.weight.shape
    copy(linear.weight, array_of(layer.kernel).reshape(inputs, outputs).T)
    copy(linear.bias, array_of(layer.bias).reshape(outputs))


def copy_norm(residual, norm):
    copy(norm.weight, residual.norm.gamma)
    copy(norm.bias, residual.norm.beta)
