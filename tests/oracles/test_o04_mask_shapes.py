"""O4: a mask that could be read in two ways is refused."""

import keras
import numpy as np
import pytest

from keras_transformer import DecoderBlock, EncoderBlock, MultiHeadAttention
from tests.backends import array_of

RNG = np.random.default_rng(4)
TARGET = RNG.normal(size=(3, 3, 8)).astype("float32")
SOURCE = RNG.normal(size=(3, 5, 8)).astype("float32")
PADDING = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0]], bool)
ADDITIVE = np.where(PADDING, 0.0, -1e9).astype("float32")
TWO_AXES = r"`attention_mask` must have shape .*Received: shape \(3, 5\)"


def test_padding_is_equal_in_all_clear_shapes():
    layer = MultiHeadAttention(2, 4)
    expected = array_of(layer(TARGET, SOURCE, value_mask=PADDING))
    assert np.abs(expected - array_of(layer(TARGET, SOURCE))).max() > 1e-3
    for mask in (PADDING[:, None], PADDING[:, None, None], PADDING[:, None] * 1):
        output = array_of(layer(TARGET, SOURCE, attention_mask=mask))
        np.testing.assert_array_equal(output, expected)


def test_two_axes_are_refused():
    layer = MultiHeadAttention(2, 4)
    with pytest.raises(ValueError, match=TWO_AXES):
        layer(TARGET, SOURCE, attention_mask=PADDING)


@pytest.mark.parametrize("mask", [ADDITIVE, ADDITIVE[:, None], ADDITIVE[:, None, None]])
def test_float_masks_are_refused(mask):
    layer = MultiHeadAttention(2, 4)
    with pytest.raises(ValueError, match=r"`attention_mask` must be boolean.*float32"):
        layer(TARGET, SOURCE, attention_mask=mask)


@pytest.mark.parametrize("name", ["query_mask", "value_mask", "key_mask"])
def test_float_padding_is_refused_by_name(name):
    layer = MultiHeadAttention(2, 4)
    mask = {name: np.ones((3, 3 if name == "query_mask" else 5), "float32")}
    with pytest.raises(ValueError, match=f"`{name}` must be boolean"):
        layer(TARGET, SOURCE, **mask)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock, MultiHeadAttention])
def test_every_layer_refuses_two_axes(kind, symbolic):
    layer = kind(2, 16)
    inputs = (TARGET,) if kind is EncoderBlock else (TARGET, SOURCE)
    mask = PADDING
    if symbolic:
        inputs = [keras.KerasTensor((None, None, 8)) for _ in inputs]
        mask = keras.KerasTensor((3, 5), dtype="bool")
    with pytest.raises(ValueError, match=TWO_AXES):
        layer(*inputs, attention_mask=mask)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("name", ["memory_attention_mask", "memory_padding_mask"])
def test_decoder_names_the_mask_of_the_memory(name, symbolic):
    block = DecoderBlock(2, 16)
    mask = PADDING if "attention" in name else PADDING[:, None]
    inputs = TARGET, SOURCE
    if symbolic:
        inputs = [keras.KerasTensor((None, None, 8)) for _ in inputs]
        mask = keras.KerasTensor(mask.shape, dtype="bool")
    with pytest.raises(ValueError, match=f"`{name}` must have shape"):
        block(*inputs, **{name: mask})


@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
def test_blocks_refuse_three_axes_of_padding(kind):
    block = kind(2, 16)
    inputs = (TARGET,) if kind is EncoderBlock else (TARGET, SOURCE)
    mask = np.ones((3, 3, 3), bool)
    with pytest.raises(ValueError, match="`padding_mask` must have shape"):
        block(*inputs, padding_mask=mask)
