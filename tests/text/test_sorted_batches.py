import numpy as np
import pytest

from keras_transformer.text.sorted_batches import cut_sorted


def test_a_known_cut():
    lengths = [(2, 4), (4, 2), (2, 4), (4, 2), (4, 4), (3, 2), (3, 3), (2, 3)]
    batches = cut_sorted(np.array(lengths), tokens_per_batch=14, rows_multiple_of=1)
    dealt = [[lengths[pair] for pair in pairs] for _, pairs in batches.deal(None)]
    # The longer side grows. The source shrinks at 3, grows at 4, and neighbours fit.
    assert dealt == [
        [(3, 2), (3, 3)],
        [(2, 3), (2, 4)],
        [(2, 4)],
        [(4, 4)],
        [(4, 2), (4, 2)],
    ]
    shapes = [(2, 3, 3), (2, 2, 4), (1, 2, 4), (1, 4, 4), (2, 4, 2)]
    assert [shape for shape, _ in batches.deal(None)] == shapes
    assert batches.shapes == sorted(shapes)
    assert batches.positions == 12 + 12 + 6 + 8 + 12
    assert len(batches) == 5


@pytest.mark.parametrize(("multiple", "fitting"), [(1, 10), (2, 10), (3, 9), (4, 8)])
def test_as_many_rows_as_fit(multiple, fitting):
    pairs = 4 * fitting
    cut = cut_sorted(np.full((pairs, 2), 5), 100, multiple)
    assert cut.batches == [(fitting, 5, 5)] * 4
    assert cut.sizes == [fitting] * 4


def test_sizes_are_evened_out():
    # Ten rows fit, and two batches are needed: of six and five, not of ten and one.
    cut = cut_sorted(np.full((11, 2), 5), 100, 1)
    assert cut.batches == [(6, 5, 5), (5, 5, 5)]


def test_a_last_batch_is_filled_to_the_multiple():
    cut = cut_sorted(np.full((9, 2), 5), 100, 4)
    assert cut.batches == [(8, 5, 5), (4, 5, 5)]
    assert cut.sizes == [8, 1]


def test_begins_in_the_direction_that_pads_less():
    lengths = [(3, 1), (1, 1), (1, 3), (3, 2), (1, 1)]
    cut = cut_sorted(np.array(lengths), 12, 1)
    assert cut.batches == [(3, 1, 3), (2, 3, 2)]  # not (3, 3, 1), (2, 3, 3)


def test_one_pair():
    assert cut_sorted(np.array([[3, 9]]), 24, 1).batches == [(1, 3, 9)]
