"""Training steps are those of PyTorch's own Transformer, loss and optimizer."""

import keras
import numpy as np
import pytest

from keras_transformer import SmoothedCrossEntropy, Transformer
from tests.backends import BACKEND, array_of, assert_close, randomize
from tests.models.formulas import sinusoids

torch = pytest.importorskip("torch")
parity = pytest.importorskip("tests.layers.test_torch_parity")

VOCABULARY, LAYERS = 17, 2
WIDTH, HEADS, INNER = parity.WIDTH, parity.HEADS, parity.INNER
RATE, BETAS, EPSILON, SMOOTHING = 3e-3, (0.9, 0.98), 1e-5, 0.1
SOURCE = np.array([[5, 9, 4, 1, 0, 0], [8, 3, 16, 7, 11, 1], [6, 1, 0, 0, 0, 0]])
LABELS = np.array([[4, 9, 5, 12, 1], [10, 1, 0, 0, 0], [7, 15, 1, 0, 0]])
START = np.full((3, 1), 2)
TARGET = np.concatenate([START, np.where(LABELS[:, :-1] == 1, 0, LABELS[:, :-1])], 1)


def keras_model(normalize_first):
    model = Transformer(
        VOCABULARY, num_layers=LAYERS, hidden_dim=WIDTH, num_heads=HEADS,
        intermediate_dim=INNER, dropout=0.0, normalize_first=normalize_first,
    )  # fmt: skip
    model.compile(
        keras.optimizers.Adam(RATE, *BETAS, epsilon=EPSILON),
        SmoothedCrossEntropy(SMOOTHING),
        jit_compile=BACKEND == "jax",
    )
    return randomize(model, scale=0.3)


class TorchModel(torch.nn.Module):
    """`torch.nn.Transformer` with embeddings before it and logits after it."""

    def __init__(self, normalize_first):
        super().__init__()
        layers = [
            parity.torch_layer(kind, normalize_first).train()
            for kind in (
                torch.nn.TransformerEncoderLayer,
                torch.nn.TransformerDecoderLayer,
            )
        ]
        # The paper's post-norm has no norm after the last block.
        norms = [
            torch.nn.LayerNorm(WIDTH, device="cpu") if normalize_first else None
            for _ in layers
        ]
        self.table = torch.nn.Parameter(torch.zeros(VOCABULARY, WIDTH, device="cpu"))
        self.transformer = torch.nn.Transformer(
            WIDTH, HEADS, dim_feedforward=INNER, dropout=0.0, batch_first=True,
            device="cpu",
            custom_encoder=torch.nn.TransformerEncoder(
                layers[0], LAYERS, norms[0], enable_nested_tensor=False
            ),
            custom_decoder=torch.nn.TransformerDecoder(layers[1], LAYERS, norms[1]),
        )  # fmt: skip

    def loss(self, source, target, labels):
        ahead = torch.triu(torch.ones(2 * [target.shape[1]], device="cpu"), 1).bool()
        output = self.transformer(
            self.embed(source), self.embed(target), tgt_mask=ahead,
            src_key_padding_mask=source == 0, tgt_key_padding_mask=target == 0,
            memory_key_padding_mask=source == 0,
        )  # fmt: skip
        return torch.nn.functional.cross_entropy(
            (output @ self.table.T).flatten(0, 1), labels.flatten(),
            ignore_index=0, label_smoothing=SMOOTHING,
        )  # fmt: skip

    def embed(self, ids):
        positions = sinusoids(ids.shape[1], WIDTH).astype("float32")
        return self.table[ids] * WIDTH**0.5 + torch.tensor(positions, device="cpu")


def torch_copy(model, normalize_first):
    """Make a `TorchModel` that has the weights of our model."""
    theirs, parts = TorchModel(normalize_first), model.parts
    stacks = theirs.transformer.encoder, theirs.transformer.decoder
    parity.copied(theirs.table, array_of(parts.source_embedding.embeddings))
    for ours, layer in zip(parts.encoder_blocks, stacks[0].layers, strict=True):
        parity.copy_attention(ours.self_attention, layer.self_attn)
        residuals = [ours.self_attention_residual, ours.feed_forward_residual]
        parity.copy_rest(ours, layer, residuals)
    for ours, layer in zip(parts.decoder_blocks, stacks[1].layers, strict=True):
        parity.copy_attention(ours.self_attention, layer.self_attn)
        parity.copy_attention(ours.cross_attention, layer.multihead_attn)
        residuals = [ours.self_attention_residual, ours.cross_attention_residual]
        parity.copy_rest(ours, layer, [*residuals, ours.feed_forward_residual])
    norms = parts.encoder_norm, parts.decoder_norm
    for ours, stack in zip(norms, stacks, strict=True):
        if ours is not None:
            parity.copied(stack.norm.weight, array_of(ours.gamma))
            parity.copied(stack.norm.bias, array_of(ours.beta))
    return theirs


@parity.each_order
def test_three_steps_of_adam(normalize_first):
    model = keras_model(normalize_first)
    before = torch_copy(model, normalize_first)
    theirs = torch_copy(model, normalize_first)
    parameters = list(theirs.parameters())
    ours = sum(np.prod(weight.shape) for weight in model.trainable_weights)
    assert sum(parameter.numel() for parameter in parameters) == ours
    optimizer = torch.optim.Adam(parameters, RATE, BETAS)
    batch = [torch.tensor(ids, device="cpu") for ids in (SOURCE, TARGET, LABELS)]
    inputs = {"source_ids": SOURCE.astype("int32"), "target_ids": TARGET}
    for step in (1, 2, 3):
        # Keras adds epsilon before it corrects the second moment, PyTorch after.
        optimizer.param_groups[0]["eps"] = EPSILON / (1 - BETAS[1] ** step) ** 0.5
        optimizer.zero_grad()
        loss = theirs.loss(*batch)
        loss.backward()
        optimizer.step()
        assert_close(model.train_on_batch(inputs, LABELS), loss.detach(), atol=1e-4)
    trained = dict(torch_copy(model, normalize_first).named_parameters())
    start = dict(before.named_parameters())
    for name, expected in theirs.named_parameters():
        expected = expected.detach().numpy()
        found = trained[name].detach().numpy()
        assert_close(found, expected, atol=1e-4, rtol=0, message=name)
        moved = np.abs(expected - start[name].detach().numpy()).max()
        assert moved > 1e-3, name
