"""Positions that don't count from 0: packed rows, padding on the left, shifts."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import (
    AlibiBias,
    DecoderBlock,
    EncoderBlock,
    LearnedPositionalEncoding,
    MultiHeadAttention,
    PositionalEncoding,
    RelativePositionBias,
    RotaryEmbedding,
)
from tests.backends import BACKEND, array_of, assert_close, compiled, randomize
from tests.layers.positions import Distance, Rotation

WIDTH = 12
INPUT_KINDS = {
    "sinusoidal": PositionalEncoding,
    "learned": lambda: LearnedPositionalEncoding(40),
}
ATTENTION_KINDS = {
    "rotary": RotaryEmbedding,
    "part of rotary, interleaved": lambda: RotaryEmbedding(
        rotary_dim=2, interleaved=True, max_wavelength=30.0
    ),
    "alibi": AlibiBias,
    "relative": lambda: RelativePositionBias(num_buckets=8, max_distance=9),
}
KINDS = {**INPUT_KINDS, **ATTENTION_KINDS}
each_kind = pytest.mark.parametrize("kind", KINDS)
X = np.random.default_rng(6).normal(size=(2, 9, WIDTH)).astype("float32")


class Stack:
    """Positions of a kind, and a block."""

    def __init__(self, kind, block=EncoderBlock):
        self.added = INPUT_KINDS[kind]() if kind in INPUT_KINDS else None
        options = {"cross_attention": False} if block is DecoderBlock else {}
        if kind in ATTENTION_KINDS:
            options["position"] = ATTENTION_KINDS[kind]()
        self.block = block(3, 20, **options)
        self.block.build(X.shape)
        randomize(self.block)
        if kind == "learned":
            self.added.build(X.shape)
            randomize(self.added)

    def __call__(self, x, positions=None, **masks):
        x = ops.convert_to_tensor(x)
        if self.added is not None:
            x = self.added(x, positions=positions)
        return self.block(x, positions=positions, **masks)


def packed_mask(*lengths):
    """Rows see the rows of their own sequence."""
    owner = np.repeat(np.arange(len(lengths)), lengths)
    return (owner[:, None] == owner)[None]


def restarting(*lengths):
    return np.concatenate([np.arange(n) for n in lengths]).astype("int32")[None]


@each_kind
def test_packed_sequences_equal_those_alone(kind):
    stack = Stack(kind, DecoderBlock)
    expected = [array_of(stack(x)) for x in (X[:1, :4], X[1:, :5])]
    packed = np.concatenate([X[:1, :4], X[1:, :5]], axis=1)
    mask, positions = packed_mask(4, 5), restarting(4, 5)
    found = stack(packed, positions=positions, attention_mask=mask)
    assert_close(found, np.concatenate(expected, axis=1), atol=5e-5)
    run = compiled(lambda x, at: stack(x, positions=at, attention_mask=mask))
    assert_close(run(packed, ops.convert_to_tensor(positions)), found, atol=5e-5)


@each_kind
def test_padding_on_the_left_changes_nothing(kind):
    stack = Stack(kind)
    expected = stack(X)
    padded = np.pad(X, ((0, 0), (3, 0), (0, 0)), constant_values=0.5)
    real = np.arange(12)[None].repeat(2, axis=0) >= 3
    positions = np.maximum(np.arange(12) - 3, 0).astype("int32")[None].repeat(2, 0)
    found = stack(padded, positions=positions, padding_mask=real)
    assert_close(array_of(found)[:, 3:], expected, atol=5e-5)


@pytest.mark.parametrize("kind", INPUT_KINDS)
def test_negative_positions_of_padding_reach_no_real_row(kind):
    stack = Stack(kind)
    expected = stack(X)
    padded = np.pad(X, ((0, 0), (3, 0), (0, 0)), constant_values=0.5)
    positions = np.arange(-3, 9, dtype="int32")[None].repeat(2, 0)
    found = array_of(stack(padded, positions=positions, padding_mask=positions >= 0))
    assert_close(found[:, 3:], expected, atol=5e-5)
    assert np.isfinite(found).all()


def test_nothing_is_added_at_negative_positions():
    layer = LearnedPositionalEncoding(3)
    positions = np.array([[-2, -1, 0, 2]], "int32")
    found = array_of(layer(X[:1, :4], positions=positions))
    assert_close(found[0, :2], X[0, :2])
    table = array_of(layer.embeddings)
    assert_close(found[0, 2:], X[0, 2:4] + table[[0, 2]])


@each_kind
def test_counting_from_zero_is_what_is_done_without_positions(kind):
    stack = Stack(kind)
    for batch in (1, 2):
        positions = np.arange(9, dtype="int32")[None].repeat(batch, axis=0)
        assert_close(stack(X, positions=positions), stack(X), atol=5e-5)


@each_kind
def test_only_relative_kinds_do_not_see_a_shift(kind):
    stack, positions = Stack(kind), np.arange(9, dtype="int32")[None]
    plain = array_of(stack(X))
    for shift in (1, 30):
        moved = array_of(stack(X, positions=positions + shift))
        if kind in ATTENTION_KINDS:
            assert_close(moved, plain, atol=5e-5)
        else:
            assert np.abs(moved - plain).max() > 1e-2


@each_kind
def test_every_kind_sees_a_gap(kind):
    positions = np.array([[0, 1, 2, 3, 9, 10, 11, 12, 13]], "int32")
    stack = Stack(kind)
    difference = array_of(stack(X, positions=positions)) - array_of(stack(X))
    assert np.abs(difference).max() > 1e-2


@each_kind
def test_steps_equal_whole_sequences(kind):
    """Of a row padded on the left, for the kinds that need no explicit positions."""
    stack = Stack(kind, DecoderBlock)
    real = np.array([[0, 0, 1, 1, 1, 1, 1, 1, 1], [1] * 9], bool)
    expected = array_of(stack(X, padding_mask=real))
    cache = stack.block.start(max_length=9, batch_size=2)
    for i in range(9):
        y = X[:, i : i + 1]
        if stack.added is not None:
            y = stack.added(y, start_index=i)
        y, cache = stack.block.step(y, cache, i, padding_mask=real)
        rows = real[:, i]
        assert_close(array_of(y)[rows, 0], expected[rows, i], atol=5e-5)


def test_attention_takes_bias_mask_and_positions_together():
    attention = MultiHeadAttention(3, 4, position=AlibiBias())
    attention.build(X.shape, X.shape)
    randomize(attention)
    bias = np.random.default_rng(1).normal(size=(2, 3, 9, 9)).astype("float32")
    positions = np.random.default_rng(2).integers(0, 30, (2, 9)).astype("int32")
    distance = np.abs(positions[:, None, :, None] - positions[:, None, None, :])
    slopes = np.array([2**-4, 2**-8, 2**-2], "float32")[:, None, None]
    options = {"use_causal_mask": True, "return_attention_scores": True}
    found, scores = attention(X, X, attention_bias=bias, positions=positions, **options)
    attention.position = None
    expected = attention(X, X, attention_bias=bias - slopes * distance, **options)
    assert_close(found, expected[0])
    assert_close(scores, expected[1])


@pytest.mark.parametrize("kind", INPUT_KINDS)
def test_input_positions_are_rows(kind):
    layer = INPUT_KINDS[kind]()
    whole = array_of(layer(np.zeros((1, 40, WIDTH), "float32")))[0]
    positions = np.random.default_rng(3).integers(0, 40, (2, 9))
    assert_close(layer(X, positions=positions), X + whole[positions])
    symbol = keras.Input((None, WIDTH)), keras.Input((None,), dtype="int32")
    model = keras.Model(symbol, layer(symbol[0], positions=symbol[1]))
    assert model.output_shape == (None, None, WIDTH)
    assert_close(model([X, positions.astype("int32")]), X + whole[positions])


def test_no_learned_row_is_another_positions():
    layer = LearnedPositionalEncoding(8)
    positions = np.array([[7, 8, -1, 0, 1, 2, 3, 4, 5]], "int32")
    with pytest.raises(ValueError, match=r"`positions` must be below .*=8.*: 8\."):
        layer(X, positions=positions)
    if BACKEND == "torch":
        return  # which has no compiled functions
    run = compiled(lambda x, places: layer(x, positions=places))
    found = array_of(run(ops.convert_to_tensor(X), ops.convert_to_tensor(positions)))
    wrong = np.array([False, True, *[False] * 7])
    assert np.isnan(found[:, wrong]).all()
    assert np.isfinite(found[:, ~wrong]).all()


@pytest.mark.parametrize("kind", INPUT_KINDS)
def test_bad_input_positions(kind):
    layer, symbol = INPUT_KINDS[kind](), keras.Input((9, WIDTH))
    for x in (X, symbol):
        with pytest.raises(ValueError, match=r"`start_index` and `positions` exclude"):
            layer(x, start_index=2, positions=np.zeros((2, 9), "int32"))
        with pytest.raises(ValueError, match=r"`positions` must have .*, 9\).*\(2, 8"):
            layer(x, positions=np.zeros((2, 8), "int32"))
        with pytest.raises(ValueError, match=r"`positions` must be integers.*\(9,\)"):
            layer(x, positions=np.zeros(9, "int32"))


@pytest.mark.parametrize("shape", [(2, 8), (3, 9), (2, 1)])
def test_attention_refuses_positions_of_another_shape(shape):
    attention = MultiHeadAttention(3, 4, position=RotaryEmbedding())
    for x in (X, keras.Input(batch_shape=X.shape)):
        with pytest.raises(ValueError, match=r"`positions` must have .*\(2, 9\)"):
            attention(x, x, positions=np.zeros(shape, "int32"))


def test_attention_refuses_positions_for_memories_of_another_length():
    attention = MultiHeadAttention(3, 4, position=RotaryEmbedding())
    with pytest.raises(ValueError, match=r"`positions` must have .*\(2, 4\)"):
        attention(X, X[:, :4], positions=np.zeros((2, 9), "int32"))


@pytest.mark.parametrize(
    ("position", "missing"), [(Rotation(), "rotate_at"), (Distance(), "bias_between")]
)
def test_a_layer_without_explicit_positions_is_named(position, missing):
    attention = MultiHeadAttention(3, 4, position=position)
    with pytest.raises(ValueError, match=f"`positions` needs .* with `{missing}`"):
        attention(X, X, positions=np.zeros((2, 9), "int32"))
