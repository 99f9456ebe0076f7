"""Each attention function in the layers that name it."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import (
    DecoderBlock,
    EncoderBlock,
    MultiHeadAttention,
    Transformer,
)
from keras_transformer.attention import KERNELS, blockwise, linear_sums
from tests.attention.formulas import visible
from tests.backends import array_of, assert_close, randomize
from tests.layers.check_layer import check_layer
from tests.layers.positions import Distance, Rotation
from tests.models.small import REAL, SOURCE, TARGET, inputs_of, small_transformer

RNG = np.random.default_rng(31)
X = RNG.normal(size=(2, 7, 8)).astype("float32")
MEMORY = RNG.normal(size=(2, 5, 8)).astype("float32")
PADDING = np.array([[1] * 7, [1] * 4 + [0] * 3], bool)
MEMORY_PADDING = np.array([[1] * 5, [1] * 2 + [0] * 3], bool)
each_kernel = pytest.mark.parametrize("name", KERNELS)
each_new_kernel = pytest.mark.parametrize("name", ["blockwise", "linear"])


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(blockwise, "BLOCK", 3)
    monkeypatch.setattr(linear_sums, "CHUNK", 3)


def built(layer, *shapes):
    layer.build(*shapes)
    return randomize(layer)


@pytest.mark.parametrize(
    ("kind", "name"), [(MultiHeadAttention, "blockwise"), (EncoderBlock, "linear")]
)
def test_contract(kind, name, tmp_path):
    inner = {"key_dim": 4} if kind is MultiHeadAttention else {"intermediate_dim": 10}
    names = {
        "value_dim": 3, "output_dim": 7, "dropout": 0.0, "use_bias": False,
        "num_key_value_heads": 1, "seed": 3, "window": 3, "query_key_norm": True,
        "kernel_initializer": "he_normal", "bias_initializer": "ones",
        "position": Rotation(0.2), "attention": name,
    }  # fmt: skip
    inputs = (X, MEMORY)
    if kind is EncoderBlock:
        for extra in ("value_dim", "output_dim"):
            names.pop(extra)
        names |= {
            "attention_dropout": 0.0, "activation": "gelu", "normalize_first": True,
            "normalization": "rms", "layer_norm_epsilon": 1e-3, "feed_forward": None,
            "intermediate_dropout": 0.1, "stochastic_depth": 0.1,
        }  # fmt: skip
        inputs = (X,)
    number = {MultiHeadAttention: 64 + 32 + 24 + 42 + 8, EncoderBlock: 376}[kind]
    with pytest.MonkeyPatch.context() as patch:
        # Linear attention takes no dropout, so here it is the default.
        patch.setattr(
            "tests.layers.check_layer.MAY_BE_DEFAULT",
            ("dropout", "attention_dropout", "attention", "feed_forward"),
        )
        check_layer(
            kind, {"num_heads": 2, **inner, **names}, inputs, parameters=number,
            path=tmp_path,
        )  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"window": 2}, {"position": Distance(0.3)}])
def test_blockwise_equals_dot_product_in_an_encoder_block(options):
    full, own = (
        built(EncoderBlock(2, 10, attention=name, **options), X.shape)
        for name in ("dot_product", "blockwise")
    )
    expected = array_of(full(X, padding_mask=PADDING))[PADDING]
    assert_close(array_of(own(X, padding_mask=PADDING))[PADDING], expected)
    scores = full(X, padding_mask=PADDING, return_attention_scores=True)[1]
    found = own(X, padding_mask=PADDING, return_attention_scores=True)[1]
    assert_close(found, scores)


@each_kernel
@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
def test_a_window_equals_a_mask(kind, name):
    options = {} if kind is EncoderBlock else {"cross_attention": False}
    near, masked = (
        built(kind(2, 10, attention=name, window=w, **options), X.shape)
        for w in (3, None)
    )
    band = visible(7, 7, kind is DecoderBlock, 3)[0]
    assert_close(near(X), masked(X, attention_mask=np.repeat(band, 2, axis=0)))


@pytest.mark.parametrize(
    ("name", "hypotheses", "options"),
    [
        ("blockwise", 1, {}),
        ("blockwise", 2, {"window": 3}),
        ("linear", 1, {}),
        ("linear", 2, {"window": 3}),
        ("linear", 2, {"num_key_value_heads": 1, "position": Rotation(0.3)}),
        ("dot_product", 2, {"window": 3}),
    ],
    ids=str,
)
def test_cached_equals_uncached(name, hypotheses, options):
    block = DecoderBlock(2, 10, attention=name, **options)
    built(block, X.shape, MEMORY.shape)
    memory, padding = MEMORY[: 2 // hypotheses], MEMORY_PADDING[: 2 // hypotheses]
    repeated = [np.repeat(x, hypotheses, axis=0) for x in (memory, padding)]
    expected, own, _ = block(
        X, repeated[0], memory_padding_mask=repeated[1], return_attention_scores=True
    )
    assert_close(block(X, repeated[0], memory_padding_mask=repeated[1]), expected)
    cache, index = block.start(memory, max_length=7, hypotheses=hypotheses), 0
    for size in (1, 3, 3):
        y, cache, scores = block.step(
            X[:, index : index + size], cache, index, hypotheses=hypotheses,
            memory_padding_mask=padding, return_attention_scores=True,
        )  # fmt: skip
        rows = slice(index, index + size)
        assert_close(y, array_of(expected)[:, rows], atol=2e-5)
        assert_close(scores[0], array_of(own)[:, :, rows])
        index += size


def test_cross_attention_follows_blockwise_and_not_linear():
    expected = {"dot_product": "dot_product", "blockwise": "blockwise"}
    for name in KERNELS:
        block = DecoderBlock(2, 10, attention=name)
        block.build(X.shape, MEMORY.shape)
        assert block.self_attention.attention == name
        found = block.cross_attention.attention
        assert found == expected.get(name, "dot_product")


@each_new_kernel
def test_in_a_transformer(name, tmp_path):
    model = small_transformer(attention=name, num_layers=1, seed=4)
    expected = array_of(model(inputs_of()))
    full = small_transformer(num_layers=1, seed=4)
    full.set_weights([array_of(weight) for weight in model.weights])
    difference = np.abs(array_of(full(inputs_of())) - expected)[REAL].max()
    assert difference < 1e-5 if name == "blockwise" else difference > 1e-3
    state, shared = model.start(SOURCE, 3)
    for i in range(3):
        logits, state = model.step(TARGET[:, i], state, i, shared)
        assert_close(array_of(logits)[REAL[:, i]], expected[:, i][REAL[:, i]])
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert type(loaded) is Transformer
    np.testing.assert_array_equal(array_of(loaded(inputs_of())), expected)
    model.compile("sgd", "mse")
    assert np.isfinite(model.train_on_batch(inputs_of(), np.zeros((2, 3, 20))))


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_linear_attention_is_cached_in_half_precision(policy):
    block = DecoderBlock(2, 10, attention="linear", cross_attention=False, dtype=policy)
    built(block, X.shape)
    cache = block.start(max_length=7, batch_size=2)
    y, _, (scores,) = block.step(X, cache, 0, return_attention_scores=True)
    for x in (y, scores):
        assert keras.backend.standardize_dtype(x.dtype) == block.compute_dtype
    assert_close(y, block(X), atol=2e-2 if policy == "mixed_float16" else 1.5e-1)


LINEAR = {"attention": "linear"}
REFUSED = {
    "dropout": (
        MultiHeadAttention,
        {"dropout": 0.25},
        "`dropout` must be set to 0 .*: 0.25",
    ),
    "block's dropout": (
        EncoderBlock,
        {"attention_dropout": 0.25},
        "`attention_dropout` must be set to 0 .*Received: 0.25",
    ),
    "bias": (
        MultiHeadAttention,
        {"position": Distance(0.3)},
        "`position` must not have a `bias` .*Received: <Distance",
    ),
    "block's bias": (
        DecoderBlock,
        {"position": Distance(0.3)},
        "`position` must not have a `bias` .*Received: <Distance",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_linear_attention_refuses_what_needs_scores(case):
    kind, options, error = REFUSED[case]
    with pytest.raises(ValueError, match=error):
        kind(2, 4, **LINEAR, **options)


@pytest.mark.parametrize("symbolic", [False, True])
def test_linear_attention_refuses_a_bias_of_the_callers(symbolic):
    bias = np.zeros((2, 7, 7), "float32")
    x = keras.KerasTensor(X.shape) if symbolic else X
    bias = keras.KerasTensor(bias.shape) if symbolic else ops.convert_to_tensor(bias)
    error = r"`attention_bias` must be None .*Received: shape \(2, 7, 7\)"
    layer = MultiHeadAttention(2, 4, **LINEAR)
    with pytest.raises(ValueError, match=error):
        layer(x, x, attention_bias=bias)
    for block in (
        EncoderBlock(2, 4, **LINEAR),
        DecoderBlock(2, 4, **LINEAR, cross_attention=False),
    ):
        with pytest.raises(ValueError, match=error):
            block(x, attention_bias=bias)


def test_unknown_kernels_are_named():
    error = "`attention` must be one of 'dot_product', 'blockwise', 'linear'.*'fast'"
    with pytest.raises(ValueError, match=error):
        MultiHeadAttention(2, 4, attention="fast")
