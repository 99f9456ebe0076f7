"""A bias of the caller's beside that of positions."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import AlibiBias, MultiHeadAttention, RelativePositionBias
from tests.backends import array_of, assert_close, randomize

LENGTH = 140  # more than a block
RNG = np.random.default_rng(21)
X = RNG.normal(size=(1, LENGTH, 8)).astype("float32")
BIAS = RNG.normal(size=(1, LENGTH, LENGTH)).astype("float32")
POSITIONS = np.arange(LENGTH, dtype="int32")[None] + 3


@keras.saving.register_keras_serializable(package="tests")
class FavouriteKey(keras.layers.Layer):
    """Not a function of the distance: every query likes the same key."""

    def bias(self, query_length, key_length, offset):
        del offset
        liked = ops.equal(ops.arange(key_length), 7)
        row = ops.where(liked, 3.0, 0.0)
        return ops.broadcast_to(row, (1, 1, query_length, key_length))


def attention(position, name="dot_product", dtype="float32"):
    layer = MultiHeadAttention(2, 4, position=position, attention=name, dtype=dtype)
    layer.build(X.shape, X.shape)
    return randomize(layer)


@pytest.mark.parametrize("dtype", ["float32", "mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize("name", ["dot_product", "blockwise"])
@pytest.mark.parametrize("kind", [AlibiBias, RelativePositionBias])
def test_both_are_added(kind, name, dtype):
    layer = attention(kind(), name, dtype)
    x, bias = X[:, :9], BIAS[:, :9, :9]
    own = array_of(layer.score_bias(9, 9))
    plain = attention(None, name, dtype)
    for part in ("query_dense", "key_dense", "value_dense", "output_dense"):
        weights = [array_of(weight) for weight in getattr(layer, part).weights]
        getattr(plain, part).set_weights(weights)
    half = {"mixed_float16": 2e-2, "mixed_bfloat16": 2e-1}
    tolerance = half.get(dtype, 1e-5)
    expected = plain(x, x, attention_bias=own + bias[:, None])
    found = layer(x, x, attention_bias=bias)
    assert_close(found, expected, atol=tolerance)
    moved = layer(x, x, attention_bias=bias, positions=POSITIONS[:, :9])
    assert_close(moved, expected, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize("name", ["dot_product", "blockwise"])
@pytest.mark.parametrize("low", [-1e9, -np.inf])
def test_the_usual_bias_against_padding_is_a_mask_in_any_precision(low, name, dtype):
    layer, x = attention(None, name, dtype), X[:, :9]
    real = np.arange(9) < 6
    bias = np.where(real, 0.0, low).astype("float32")[None, None]
    found = array_of(layer(x, x, attention_bias=bias))
    expected = layer(x, x, attention_bias=0 * BIAS[:, :9, :9], value_mask=real[None])
    assert_close(found, expected, atol=1e-5)
    everywhere = array_of(layer(x, x, attention_bias=np.full_like(bias, low)))
    assert np.isfinite(everywhere).all()


def test_any_bias_is_the_same_by_blocks():
    one = attention(FavouriteKey(), "dot_product")
    other = attention(FavouriteKey(), "blockwise")
    assert_close(other(X, X), one(X, X))
    assert_close(other(X, X, attention_bias=BIAS), one(X, X, attention_bias=BIAS))
