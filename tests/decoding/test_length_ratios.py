"""Lengths in proportion to the source."""

import numpy as np
import pytest

from keras_transformer.decoding import BeamSearch, GreedySearch, Sampling
from tests.decoding.tables import as_numpy, log_table, table_step

ENDS_AT_ONCE = log_table({2: {1: 0.9, 3: 0.1}, 3: {1: 0.9, 3: 0.1}})
NEVER_ENDS = log_table({2: {3: 1.0}, 3: {3: 1.0}})
SEARCHES = [
    pytest.param(lambda **o: GreedySearch(**o), id="greedy"),
    pytest.param(lambda **o: BeamSearch(num_beams=2, **o), id="beam"),
    pytest.param(lambda **o: Sampling(seed=3, top_k=1, **o), id="sampling"),
]
each_search = pytest.mark.parametrize("search", SEARCHES)
LENGTHS = np.array([1, 3, 4])


def lengths_of(search, table, **options):
    options = {"max_length": 9, "source_lengths": LENGTHS, **options}
    result = as_numpy(search(table_step(table), None, np.full(3, 2), **options))
    return result.lengths[:, 0].tolist(), result.finished[:, 0].tolist()


@each_search
def test_no_end_before_the_smallest_length(search):
    # floor(1.5 * length) tokens, and then the end
    found = lengths_of(search(min_ratio=1.5), ENDS_AT_ONCE)
    assert found == ([2, 5, 7], [True, True, True])
    found = lengths_of(search(min_ratio=1.5, min_length=5), ENDS_AT_ONCE)
    assert found == ([6, 6, 7], [True, True, True])


@each_search
def test_cut_at_the_largest_length(search):
    found = lengths_of(search(max_ratio=1.5), NEVER_ENDS)
    assert found == ([1, 4, 6], [False, False, False])
    # never beyond the limits that are given
    limits = {"limits": np.array([9, 4, 9])}
    assert lengths_of(search(max_ratio=1.5), NEVER_ENDS, **limits)[0] == [1, 3, 6]
    assert lengths_of(search(max_ratio=9.0), NEVER_ENDS)[0] == [8, 8, 8]


@each_search
def test_lengths_are_needed(search):
    for options in ({"min_ratio": 0.5}, {"max_ratio": 2.0}):
        with pytest.raises(ValueError, match=r"`source_lengths` are needed .*=None"):
            lengths_of(search(**options), NEVER_ENDS, source_lengths=None)
        with pytest.raises(ValueError, match=r"`source_lengths` must .* \(3, 1\)\."):
            lengths_of(search(**options), NEVER_ENDS, source_lengths=[[1], [2], [3]])
    assert lengths_of(search(), NEVER_ENDS, source_lengths=None)[0] == [8, 8, 8]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_ratio": -0.5}, "`min_ratio` must be at least 0.*-0.5"),
        ({"min_ratio": float("inf")}, "`min_ratio` must be .*finite.*inf"),
        ({"max_ratio": 0.0}, "`max_ratio` must be above 0.*: 0.0"),
        ({"max_ratio": 0.5, "min_ratio": 0.7}, "not below `min_ratio`, 0.7.*: 0.5"),
        ({"max_ratio": "2"}, "`max_ratio`.*'2'"),
    ],
)
def test_wrong_ratios_are_named(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        BeamSearch(**options)
