"""O5: the paper's positions, also in half precision and at odd widths."""

import keras
import numpy as np
import pytest

from keras_transformer import PositionalEncoding
from tests.backends import array_of, assert_close

ROW_1 = [0.841471, 0.540302, 0.025116, 0.999685, 0.000631]
ROW_3 = [0.141120, -0.989992, 0.075285, 0.997162, 0.001893]


def exact(length, width):
    position = np.arange(length, dtype="float64")[:, None]
    index = np.arange(width)
    angle = position / 10000.0 ** (2 * (index // 2) / width)
    return np.where(index % 2 == 0, np.sin(angle), np.cos(angle))


def test_known_rows_of_width_5():
    encoded = array_of(PositionalEncoding()(np.zeros((2, 4, 5), "float32")))
    assert_close(encoded[0, 1], np.array(ROW_1, "float32"), atol=1e-6)
    assert_close(encoded[1, 3], np.array(ROW_3, "float32"), atol=1e-6)
    np.testing.assert_array_equal(encoded[0, 0], [0, 1, 0, 1, 0])


@pytest.mark.parametrize(
    ("policy", "tolerance"),
    [
        ("float32", 5e-4),
        ("float16", 1e-3),
        ("mixed_float16", 1e-3),
        ("bfloat16", 4e-3),
        ("mixed_bfloat16", 4e-3),
    ],
)
def test_long_sequences(policy, tolerance):
    layer = PositionalEncoding(dtype=policy)
    encoded = layer(np.zeros((1, 4096, 64), "float32"))
    assert keras.backend.standardize_dtype(encoded.dtype) == layer.compute_dtype
    rows = array_of(encoded)[0]
    assert np.abs(rows - exact(4096, 64)).max() <= tolerance
    if "bfloat16" not in policy:
        assert len(np.unique(rows, axis=0)) == 4096


@pytest.mark.parametrize("width", [1, 2, 7, 16])
def test_any_width(width):
    encoded = PositionalEncoding()(np.zeros((1, 9, width), "float32"))
    assert_close(encoded[0], exact(9, width).astype("float32"))
