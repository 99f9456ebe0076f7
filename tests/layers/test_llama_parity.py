"""Weights copied into a Llama of the transformers library give the same output."""

import numpy as np
import pytest

from keras_transformer import DecoderBlock, FeedForward
from keras_transformer.layers import Residual
from tests.backends import array_of, assert_close, randomize

torch = pytest.importorskip("torch")
llama = pytest.importorskip("transformers.models.llama.modeling_llama")

WIDTH, HEADS, KEY_HEADS, INNER, EPSILON = 12, 6, 2, 20, 0.01
X = np.random.default_rng(3).normal(size=(2, 5, WIDTH)).astype("float32")


def config_of(**options):
    return llama.LlamaConfig(
        hidden_size=WIDTH, num_attention_heads=HEADS, num_key_value_heads=KEY_HEADS,
        intermediate_size=INNER, rms_norm_eps=EPSILON, attn_implementation="eager",
        **options,
    )  # fmt: skip


def copied(parameter, array):
    array = np.ascontiguousarray(array_of(array))
    parameter.data = torch.tensor(array, dtype=parameter.dtype, device="cpu")


def copy_network(network, theirs):
    pairs = zip(
        (network.gate, network.intermediate, network.output_dense),
        (theirs.gate_proj, theirs.up_proj, theirs.down_proj),
        strict=True,
    )
    for ours, linear in pairs:
        copied(linear.weight, array_of(ours.kernel).T)
        if network.use_bias:
            copied(linear.bias, ours.bias)


def result(layer, *inputs, **options):
    with torch.no_grad():
        y = layer(*(torch.tensor(x, device="cpu") for x in inputs), **options)
    return (y[0] if isinstance(y, tuple) else y).float().numpy(force=True)


@pytest.mark.parametrize(
    ("activation", "theirs"), [("swiglu", "silu"), ("geglu", "gelu"), ("reglu", "relu")]
)
def test_feed_forward(activation, theirs):
    layer = FeedForward(INNER, activation=activation)
    layer.build(X.shape)
    randomize(layer)
    other = llama.LlamaMLP(config_of(hidden_act=theirs, mlp_bias=True)).to("cpu")
    copy_network(layer, other)
    assert_close(layer(X), result(other, X))


@pytest.mark.parametrize("policy", ["float32", "mixed_float16", "mixed_bfloat16"])
def test_norm(policy):
    ours = Residual(normalization="rms", epsilon=EPSILON, dtype=policy).norm
    ours.build(X.shape)
    randomize(ours)
    dtype = getattr(torch, policy.removeprefix("mixed_"))
    theirs = llama.LlamaRMSNorm(WIDTH, eps=EPSILON).to("cpu", dtype)
    copied(theirs.weight, ours.scale)
    tolerance = {"float32": 1e-5, "mixed_float16": 2e-3, "mixed_bfloat16": 2e-2}[policy]
    for scale in (0.02, 1, 300):  # squares that half precision has no number for
        x = torch.tensor(scale * X, device="cpu").to(dtype)
        with torch.no_grad():
            expected = theirs(x).float().numpy(force=True)
        found = ours(x.float().numpy(force=True))
        assert_close(found, expected, atol=tolerance, rtol=tolerance)


def test_block():
    block = DecoderBlock(
        HEADS, INNER, cross_attention=False, normalize_first=True, activation="swiglu",
        normalization="rms", layer_norm_epsilon=EPSILON, use_bias=False,
        num_key_value_heads=KEY_HEADS,
    )  # fmt: skip
    block.build(X.shape)
    randomize(block, scale=0.4)
    theirs = llama.LlamaDecoderLayer(config_of(hidden_act="silu"), 0).to("cpu").eval()
    attention = block.self_attention
    for name in ("query", "key", "value", "output"):
        kernel = array_of(getattr(attention, f"{name}_dense").kernel)
        kernel = kernel.reshape(-1, WIDTH) if name == "output" else kernel
        linear = getattr(theirs.self_attn, f"{name[0]}_proj")
        copied(linear.weight, kernel.reshape(len(kernel), -1).T)
    copy_network(block.feed_forward, theirs.mlp)
    copied(theirs.input_layernorm.weight, block.self_attention_residual.norm.scale)
    copied(
        theirs.post_attention_layernorm.weight, block.feed_forward_residual.norm.scale
    )
    ahead = np.triu(np.full((5, 5), -1e9, "float32"), 1)[None, None]
    turn = torch.ones((1, 5, WIDTH // HEADS), device="cpu")  # by no angle
    expected = result(
        theirs, X, attention_mask=torch.tensor(ahead, device="cpu"),
        position_embeddings=(turn, 0 * turn),
    )  # fmt: skip
    assert_close(block(X), expected)
