"""Linear biases against the published slopes."""

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keras import ops

from keras_transformer import AlibiBias, MultiHeadAttention
from tests.backends import array_of, assert_close
from tests.layers.check_layer import check_config

SLOPES = {
    1: [2**-8],
    2: [2**-4, 2**-8],
    3: [2**-4, 2**-8, 2**-2],
    6: [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3],
    8: [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256],
    12: [
        1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256,
        2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5,
    ],
    16: [2 ** (-i / 2) for i in range(1, 17)],
}  # fmt: skip


def built(heads):
    layer = AlibiBias()
    layer.build((None, None, heads, 4))
    return layer


@pytest.mark.parametrize("heads", SLOPES)
def test_slopes_and_distances(heads):
    bias = built(heads).bias(3, 5, 1)
    distance = [[1, 0, 1, 2, 3], [2, 1, 0, 1, 2], [3, 2, 1, 0, 1]]
    expected = -np.array(SLOPES[heads])[:, None, None] * np.array(distance)
    assert_close(bias, expected[None], atol=1e-7)
    assert bias.shape == (1, heads, 3, 5)


def test_config():
    check_config(AlibiBias, {})


@given(shift=st.integers(0, 5000), heads=st.sampled_from([1, 3, 8]))
def test_only_the_distance_counts(shift, heads):
    layer = built(heads)
    bias = array_of(layer.bias(4, 7, 3))
    at = shift + np.arange(7, dtype="int32")[None]
    between = array_of(layer.bias_between(at[:, 3:], at))
    np.testing.assert_array_equal(between, bias)
    moved = layer.bias(4, 7, ops.convert_to_tensor(3))
    np.testing.assert_array_equal(array_of(moved), bias)


@pytest.mark.parametrize("heads", [2, 8, 12])
def test_same_as_keras_hub_under_a_causal_mask(heads):
    """Theirs leaves out what is the same for all keys of a query."""
    keras_hub = pytest.importorskip("keras_hub")
    theirs = keras_hub.layers.AlibiBias()(np.zeros((1, heads, 6, 6), "float32"))
    ours = array_of(built(heads).bias(6, 6))
    theirs = array_of(theirs)
    for query in range(6):
        keys = slice(0, query + 1)
        assert_close(
            ours[:, :, query, keys] - ours[:, :, query, :1],
            theirs[:, :, query, keys] - theirs[:, :, query, :1],
        )


def test_large_distances_are_exact_in_half_precision():
    layer = AlibiBias(dtype="mixed_bfloat16")
    layer.build((None, None, 8, 4))
    bias = layer.bias(1, 4098, 4097)
    assert keras.backend.standardize_dtype(bias.dtype) == "float32"
    assert array_of(bias)[0, 0, 0, 0] == -4097 / 2


def test_a_layer_has_one_number_of_heads():
    alibi = AlibiBias()
    MultiHeadAttention(2, 4, position=alibi).build((2, 3, 8), (2, 3, 8))
    other = MultiHeadAttention(4, 4, position=alibi)
    with pytest.raises(ValueError, match=r"`position` is built for 2 heads.*heads=4"):
        other.build((2, 3, 8), (2, 3, 8))
    with pytest.raises(ValueError, match=r"`query` must have shape .*heads"):
        AlibiBias().build((2, 3, 8))
