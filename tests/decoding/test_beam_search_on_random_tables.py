"""Beam search against exhaustive search and against plain Python."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.decoding import BeamSearch, SearchResult
from tests.decoding.tables import (
    all_finished,
    as_numpy,
    assert_same,
    compiled,
    ids_of,
    log_probability,
    plain_beam_search,
    prefix_state,
    prefix_step,
    random_tables,
)

BATCH = 16


@functools.cache
def compiled_search(num_beams, alpha, n_best):
    search = BeamSearch(num_beams=num_beams, length_penalty=alpha, n_best=n_best)

    def run(tables):
        state = prefix_state(range(BATCH))
        return search(prefix_step(tables), state, np.full(BATCH, 2), max_length=5)

    return compiled(run)


@pytest.mark.parametrize("alpha", [-3.0, 0.0, 0.6, 1.0, 2.0])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_a_beam_as_wide_as_the_space_finds_the_best_of_all(alpha, seed):
    tables = random_tables(seed, BATCH)
    result = as_numpy(compiled_search(128, alpha, 3)(tables))
    for row, table in enumerate(tables):
        best = all_finished(table, alpha=alpha)[:3]
        for place, (score, log_prob, ids) in enumerate(best):
            assert ids_of(result, row, place) == ids
            np.testing.assert_allclose(result.scores[row, place], score, atol=1e-5)
            got = result.log_probs[row, place]
            np.testing.assert_allclose(got, log_prob, atol=1e-5)


@pytest.mark.parametrize(
    ("num_beams", "n_best", "alpha"),
    [(1, 1, 0.6), (2, 1, 0.0), (2, 2, -3.0), (3, 1, 0.6), (3, 3, -3.0), (4, 2, 2.0)],
)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_stopping_early_changes_no_result(num_beams, n_best, alpha, seed):
    tables = random_tables(seed, BATCH, impossible=0.1)
    result = as_numpy(compiled_search(num_beams, alpha, n_best)(tables))
    for row, table in enumerate(tables):
        expected = plain_beam_search(
            table, num_beams=num_beams, alpha=alpha, n_best=n_best
        )
        assert result.finished[row].sum() == len(expected)
        for place, (score, ids) in enumerate(expected):
            assert ids_of(result, row, place) == ids
            np.testing.assert_allclose(result.scores[row, place], score, atol=1e-5)


def test_n_best_hypotheses_are_distinct_and_sorted_and_true():
    tables = random_tables(3, BATCH)
    result = as_numpy(compiled_search(4, 0.6, 4)(tables))
    for row, table in enumerate(tables):
        hypotheses = [tuple(ids_of(result, row, place)) for place in range(4)]
        assert len(set(hypotheses)) == 4
        finished = result.finished[row]
        assert (np.diff(finished.astype(int)) <= 0).all()
        for group in (finished, ~finished):
            assert (np.diff(result.scores[row][group]) <= 0).all()
        for place, ids in enumerate(hypotheses):
            assert (ids[-1] == 1) == finished[place]
            expected = log_probability(table, ids)
            np.testing.assert_allclose(
                result.log_probs[row, place], expected, atol=1e-5
            )
            assert (result.ids[row, place, len(ids) :] == 0).all()


def test_the_best_one_does_not_depend_on_how_many_are_asked_for():
    tables = random_tables(4, BATCH)
    one = as_numpy(compiled_search(4, 0.6, 1)(tables))
    four = as_numpy(compiled_search(4, 0.6, 4)(tables))
    assert_same(one, type(four)(*(value[:, :1] for value in four)))


@given(order=st.permutations(range(BATCH)))
@settings(max_examples=15)
def test_rows_are_independent_of_their_neighbours(order):
    tables = random_tables(6, BATCH)
    run = compiled_search(3, 0.6, 3)
    straight, mixed = as_numpy(run(tables)), as_numpy(run(tables[order]))
    assert_same(mixed, SearchResult(*(value[order] for value in straight)))
