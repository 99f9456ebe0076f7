"""The best of long rows, exactly, ties included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keras import ops

from keras_transformer.decoding.selection import top
from tests.backends import BACKEND, array_of

LENGTHS = [5, 97, 128, 1000, 8000, 32768]


def best_in_order(values, count):
    order = np.argsort(-values, axis=-1, kind="stable")[:, :count]
    return np.take_along_axis(values, order, axis=-1), order


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("count", [1, 4, 8])
@pytest.mark.parametrize("ties", [False, True])
def test_equals_a_stable_sort(length, count, ties):
    count = min(count, length)
    rng = np.random.default_rng(length + count)
    values = rng.normal(size=(6, length)).astype("float32")
    values = np.round(values) + 0.0 if ties else values  # no negative zeros
    best, indices = top(ops.convert_to_tensor(values), count)
    expected, order = best_in_order(values, count)
    np.testing.assert_array_equal(array_of(best), expected)
    at_indices = np.take_along_axis(values, array_of(indices), axis=-1)
    np.testing.assert_array_equal(at_indices, expected)
    assert all(len(set(row)) == count for row in array_of(indices).tolist())
    if BACKEND != "torch":  # has no order among equal values
        np.testing.assert_array_equal(array_of(indices), order)


@pytest.mark.skipif(BACKEND == "torch", reason="no order among equal values")
@given(st.lists(st.integers(-2, 2), min_size=128, max_size=128), st.integers(1, 6))
def test_many_ties_and_impossible_values(values, count):
    values = np.array([values], "float32")
    values[values == -2] = -np.inf
    best, indices = top(ops.convert_to_tensor(values), count)
    expected, order = best_in_order(values, count)
    np.testing.assert_array_equal(array_of(best), expected)
    np.testing.assert_array_equal(array_of(indices), order)


def test_rows_without_any_number_give_indices_in_range():
    values = np.full((2, 1000), np.nan, "float32")
    _, indices = top(ops.convert_to_tensor(values), 4)
    found = array_of(indices)
    assert ((found >= 0) & (found < 1000)).all()
