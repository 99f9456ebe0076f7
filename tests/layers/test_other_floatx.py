"""Masks where Keras's default precision is another than the layer's."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import AdditiveAttention, AlibiBias, DecoderBlock, EncoderBlock
from tests.backends import BACKEND, array_of, assert_close, randomize

X = np.random.default_rng(2).normal(size=(2, 5, 8)).astype("float32")
# A tensor: with bfloat16 on JAX, Keras turns a layer's NumPy arrays into floats.
MASK = ops.convert_to_tensor([[True, True, True, False, False], [False] * 5], "bool")
OPTIONS = {"dtype": "float32", "seed": 1}
FLOATS = ["bfloat16", "float16", *([] if BACKEND == "jax" else ["float64"])]


@pytest.fixture(params=FLOATS)
def floatx(request):
    before = keras.config.floatx()
    yield request.param
    keras.config.set_floatx(before)


def padded(layer):
    layer.build(X.shape)
    randomize(layer)
    return lambda: layer(X, padding_mask=MASK)


def decoder():
    layer = DecoderBlock(2, 12, **OPTIONS)
    layer.build(X.shape, X.shape)
    randomize(layer)
    return lambda: layer(X, X, memory_padding_mask=MASK)


def additive():
    layer = AdditiveAttention(6, **OPTIONS)
    layer.build(X.shape, X.shape)
    randomize(layer)
    return lambda: layer(X, X, value_mask=MASK)


@pytest.mark.parametrize(
    "make",
    [
        lambda: padded(EncoderBlock(2, 12, **OPTIONS)),
        lambda: padded(EncoderBlock(2, 12, attention="blockwise", **OPTIONS)),
        lambda: padded(EncoderBlock(2, 12, position=AlibiBias(), **OPTIONS)),
        decoder,
        additive,
    ],
)
def test_masks_do_not_depend_on_the_default_precision(make, floatx):
    run = make()
    expected = array_of(run())
    keras.config.set_floatx(floatx)
    assert np.isfinite(expected).all()
    assert_close(run(), expected)
