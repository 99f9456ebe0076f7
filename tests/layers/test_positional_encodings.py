import numpy as np
import pytest
from keras import ops

from keras_transformer import LearnedPositionalEncoding, PositionalEncoding
from tests.backends import array_of, assert_close, compiled

X = np.random.default_rng(2).normal(size=(2, 4, 6)).astype("float32")


def sinusoids(length, width, base, start=0):
    table = np.empty((length, width))
    for position in range(length):
        for column in range(width):
            angle = (position + start) / base ** (2 * (column // 2) / width)
            table[position, column] = np.cos(angle) if column % 2 else np.sin(angle)
    return table


@pytest.mark.parametrize(("base", "scale"), [(10000.0, 1.0), (50.0, 0.25)])
def test_sinusoids(base, scale):
    layer = PositionalEncoding(max_wavelength=base, scale=scale)
    assert_close(layer(X), X + scale * sinusoids(4, 6, base))


@pytest.mark.parametrize("index", [0, 3, ops.convert_to_tensor(3)], ids=str)
@pytest.mark.parametrize("kind", [PositionalEncoding, LearnedPositionalEncoding])
def test_start_index(kind, index):
    layer = PositionalEncoding() if kind is PositionalEncoding else kind(7)
    whole = array_of(layer(np.zeros((1, 7, 6), "float32")))[0]
    start = int(index)
    assert_close(layer(X, start_index=index), X + whole[start : start + 4])
    in_graph = compiled(lambda x, i: layer(x, start_index=i))
    found = in_graph(X, ops.convert_to_tensor(start))
    assert_close(found, X + whole[start : start + 4])


def test_learned_table_is_added():
    layer = LearnedPositionalEncoding(9)
    output = layer(X)
    assert layer.embeddings.shape == (9, 6)
    assert_close(output, X + array_of(layer.embeddings)[:4])


def test_learned_rows_past_the_table_are_nan():
    layer = LearnedPositionalEncoding(5)
    output = array_of(layer(X, start_index=ops.convert_to_tensor(3)))
    assert np.isnan(output[:, 2:]).all()
    assert np.isfinite(output[:, :2]).all()


def test_no_learned_row_stands_before_the_first():
    layer = LearnedPositionalEncoding(5)
    with pytest.raises(ValueError, match="start_index=-1"):
        layer(X, start_index=-1)
    output = array_of(layer(X, start_index=ops.convert_to_tensor(-1)))
    assert np.isnan(output[:, 0]).all()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (
            lambda: PositionalEncoding(max_wavelength=0),
            r"`max_wavelength`.*above 0.*: 0",
        ),
        (lambda: PositionalEncoding(scale="much"), r"`scale` must be a number.*'much'"),
        (lambda: LearnedPositionalEncoding(0), r"`max_length` must be an integer.*: 0"),
    ],
)
def test_errors(make, error):
    with pytest.raises(ValueError, match=error):
        make()
