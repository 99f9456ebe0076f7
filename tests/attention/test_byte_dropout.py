import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.attention import byte_dropout
from keras_transformer.layers.byte_dropout import ByteDropout
from tests.backends import array_of, gradients


@pytest.mark.parametrize("rate", [0.001, 0.1, 0.3, 0.5, 0.997, 0.999])
def test_each_value_is_dropped_with_the_probability_of_the_rate(rate):
    seed, dropped, size, calls = keras.random.SeedGenerator(3), 0, 5_003, 200
    for _ in range(calls):
        dropped += (
            array_of(byte_dropout(np.ones(size, "float32"), rate, seed)) == 0
        ).sum()
    # The two thresholds next to `256 * rate` are drawn by call, the values by byte.
    low = np.floor(256 * rate) / 256
    high = low + 1 / 256
    by_call = (rate - low) * (high - rate) / calls
    deviation = np.sqrt(rate * (1 - rate) / (size * calls) + by_call)
    assert abs(dropped / (size * calls) - rate) < 4 * deviation


@pytest.mark.parametrize("shape", [(), (1,), (7,), (0, 3), (2, 3, 5), (4, 8)])
def test_what_stays_is_scaled_up(shape):
    x = np.random.default_rng(1).normal(size=shape).astype("float32") + 10
    y = array_of(byte_dropout(x, 0.25, 5))
    assert y.shape == shape
    np.testing.assert_allclose(y[y != 0], x[y != 0] / 0.75, rtol=1e-6)
    np.testing.assert_array_equal(y, array_of(byte_dropout(x, 0.25, 5)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_dtypes_stay(dtype):
    y = byte_dropout(ops.ones((3, 5), dtype), 0.5, 1)
    assert keras.backend.standardize_dtype(y.dtype) == dtype
    assert set(array_of(ops.cast(y, "float32")).ravel().tolist()) == {0.0, 2.0}


def test_values_are_dropped_independently():
    y = array_of(byte_dropout(np.ones((400, 100), "float32"), 0.5, 9)) == 0
    for axis, distance in ((0, 1), (0, 4), (1, 1), (1, 2), (1, 3), (1, 4)):
        together = np.mean(y * np.roll(y, distance, axis))
        assert abs(together - 0.25) < 5 * np.sqrt(0.25 * 0.75 / y.size)


def test_the_gradient_is_the_mask():
    x = np.full((6, 5), 3.0, "float32")
    (found,) = gradients(lambda x: ops.sum(byte_dropout(x, 0.4, 2)), x)
    np.testing.assert_allclose(found, array_of(byte_dropout(x, 0.4, 2)) / 3, rtol=1e-6)


def test_layer():
    layer, x = ByteDropout(0.5, seed=1), np.ones((4, 50), "float32")
    np.testing.assert_array_equal(array_of(layer(x)), x)
    first, second = (array_of(layer(x, training=True)) for _ in "12")
    assert (first != second).any()
    assert 60 < (first == 0).sum() < 140
    again = ByteDropout.from_config(layer.get_config())
    np.testing.assert_array_equal(array_of(again(x, training=True)), first)
    np.testing.assert_array_equal(array_of(ByteDropout(0.0)(x, training=True)), x)


def test_a_shape_of_the_noise_is_kept_as_in_keras():
    layer, x = ByteDropout(0.5, noise_shape=(8, 1, 6), seed=1), np.ones((8, 5, 6))
    kept = array_of(layer(x.astype("float32"), training=True)) > 0
    assert (kept == kept[:, :1]).all()
    assert 0 < kept.mean() < 1
