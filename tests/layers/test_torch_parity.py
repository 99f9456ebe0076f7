"""Weights copied into PyTorch's own Transformer layers give the same output."""

import numpy as np
import pytest

from keras_transformer import DecoderBlock, EncoderBlock
from tests.backends import array_of, assert_close, randomize

torch = pytest.importorskip("torch")

WIDTH, HEADS, INNER = 12, 3, 20
RNG = np.random.default_rng(13)
TARGET = RNG.normal(size=(2, 5, WIDTH)).astype("float32")
MEMORY = RNG.normal(size=(2, 7, WIDTH)).astype("float32")
PADDING = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], bool)
MEMORY_PADDING = np.array([[1, 1, 1, 1, 0, 0, 0], [1] * 7], bool)
each_order = pytest.mark.parametrize("normalize_first", [False, True])


def copied(parameter, array):
    """Copy an array into a parameter of PyTorch."""
    parameter.data = torch.tensor(np.ascontiguousarray(array), device="cpu")


def copy_attention(layer, theirs):
    parts = layer.query_dense, layer.key_dense, layer.value_dense
    kernels = [array_of(part.kernel).reshape(WIDTH, WIDTH).T for part in parts]
    copied(theirs.in_proj_weight, np.concatenate(kernels))
    biases = [array_of(part.bias).reshape(WIDTH) for part in parts]
    copied(theirs.in_proj_bias, np.concatenate(biases))
    output = array_of(layer.output_dense.kernel).reshape(WIDTH, WIDTH)
    copied(theirs.out_proj.weight, output.T)
    copied(theirs.out_proj.bias, array_of(layer.output_dense.bias))


def copy_rest(block, theirs, residuals):
    network = block.feed_forward
    for ours, linear in (
        (network.intermediate, theirs.linear1),
        (network.output_dense, theirs.linear2),
    ):
        copied(linear.weight, array_of(ours.kernel).T)
        copied(linear.bias, array_of(ours.bias))
    for number, residual in enumerate(residuals, start=1):
        norm = getattr(theirs, f"norm{number}")
        copied(norm.weight, array_of(residual.norm.gamma))
        copied(norm.bias, array_of(residual.norm.beta))


def torch_layer(kind, normalize_first, activation="relu"):
    layer = kind(
        WIDTH, HEADS, INNER, dropout=0.0, norm_first=normalize_first,
        batch_first=True, activation=activation, device="cpu",
    )  # fmt: skip
    return layer.eval()


def run(layer, *inputs, **masks):
    """Run on the CPU; a mask of PyTorch is True where attention is forbidden."""
    inputs = [torch.tensor(x, device="cpu") for x in inputs]
    masks = {name: torch.tensor(mask, device="cpu") for name, mask in masks.items()}
    with torch.no_grad():
        return layer(*inputs, **masks).numpy(force=True)


@each_order
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_encoder_block(normalize_first, activation):
    block = EncoderBlock(
        HEADS, INNER, normalize_first=normalize_first, activation=activation
    )
    block.build(TARGET.shape)
    randomize(block, scale=0.3)
    theirs = torch_layer(torch.nn.TransformerEncoderLayer, normalize_first, activation)
    copy_attention(block.self_attention, theirs.self_attn)
    copy_rest(
        block, theirs, [block.self_attention_residual, block.feed_forward_residual]
    )
    # GELU of Keras is the approximation by tanh unless it is told otherwise.
    atol = 1e-5 if activation == "relu" else 5e-3
    assert_close(block(TARGET), run(theirs, TARGET), atol=atol)
    found = array_of(block(TARGET, padding_mask=PADDING))
    expected = run(theirs, TARGET, src_key_padding_mask=~PADDING)
    assert_close(found[PADDING], expected[PADDING], atol=atol)


@each_order
def test_decoder_block(normalize_first):
    block = DecoderBlock(HEADS, INNER, normalize_first=normalize_first)
    block.build(TARGET.shape, MEMORY.shape)
    randomize(block, scale=0.3)
    theirs = torch_layer(torch.nn.TransformerDecoderLayer, normalize_first)
    copy_attention(block.self_attention, theirs.self_attn)
    copy_attention(block.cross_attention, theirs.multihead_attn)
    copy_rest(
        block, theirs,
        [
            block.self_attention_residual,
            block.cross_attention_residual,
            block.feed_forward_residual,
        ],
    )  # fmt: skip
    ahead = np.triu(np.ones((5, 5), bool), 1)
    assert_close(block(TARGET, MEMORY), run(theirs, TARGET, MEMORY, tgt_mask=ahead))
    found = array_of(
        block(TARGET, MEMORY, padding_mask=PADDING, memory_padding_mask=MEMORY_PADDING)
    )
    expected = run(
        theirs, TARGET, MEMORY, tgt_mask=ahead, tgt_key_padding_mask=~PADDING,
        memory_key_padding_mask=~MEMORY_PADDING,
    )  # fmt: skip
    assert_close(found[PADDING], expected[PADDING])
    bare = array_of(block(TARGET, MEMORY, use_causal_mask=False))
    assert_close(bare, run(theirs, TARGET, MEMORY))
