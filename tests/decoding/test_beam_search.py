import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from keras_transformer.decoding import BeamSearch, SearchResult
from tests.decoding.tables import (
    all_finished,
    as_numpy,
    assert_same,
    compiled,
    log_probability,
    log_table,
    plain_beam_search,
    prefix_state,
    prefix_step,
    random_tables,
    table_step,
)

LURE = log_table(
    {
        2: {1: 0.505, 3: 0.495},
        3: {4: 0.97, 5: 0.03},
        4: {5: 0.97, 1: 0.03},
        5: {1: 0.97, 4: 0.03},
        1: {1: 1},
    }
)
BATCH = 16


def ids_of(result, row=0, place=0):
    length = result.lengths[row, place]
    return result.ids[row, place, : length + 1].tolist()


@pytest.mark.parametrize(
    ("alpha", "ids", "log_prob", "score"),
    [
        (0.0, [2, 1, 0, 0, 0, 0, 0, 0], -0.6832, -0.6832),
        (0.6, [2, 3, 4, 5, 1, 0, 0, 0], -0.7946, -0.6230),
    ],
)
def test_length_penalty_chooses_between_short_and_probable(alpha, ids, log_prob, score):
    search = BeamSearch(num_beams=2, length_penalty=alpha)
    result = as_numpy(search(table_step(LURE), None, np.array([2]), max_length=8))
    assert result.ids.tolist() == [[ids]]
    assert result.finished.tolist() == [[True]]
    np.testing.assert_allclose(result.log_probs, [[log_prob]], atol=1e-4)
    np.testing.assert_allclose(result.scores, [[score]], atol=1e-4)


def test_nothing_after_the_end_is_scored():
    rows = {2: {1: 0.6, 3: 0.4}, 3: {3: 0.9, 1: 0.1}, 1: dict.fromkeys(range(6), 1 / 6)}
    search = BeamSearch(num_beams=2, length_penalty=0.0)
    step = table_step(log_table(rows))
    result = as_numpy(search(step, None, np.array([2]), max_length=8))
    assert result.ids.tolist() == [[[2, 1, 0, 0, 0, 0, 0, 0]]]
    assert result.lengths.tolist() == [[1]]
    np.testing.assert_allclose(result.log_probs, [[np.log(0.6)]], atol=1e-5)


@functools.cache
def compiled_search(num_beams, alpha, n_best):
    search = BeamSearch(num_beams=num_beams, length_penalty=alpha, n_best=n_best)

    def run(tables):
        state = prefix_state(range(BATCH))
        return search(prefix_step(tables), state, np.full(BATCH, 2), max_length=5)

    return compiled(run)


@pytest.mark.parametrize("alpha", [-0.7, 0.0, 0.6, 1.0, 2.0])
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
    [(1, 1, 0.6), (2, 1, 0.0), (2, 2, -0.7), (3, 1, 0.6), (3, 3, -0.7), (4, 2, 2.0)],
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


def test_three_sources_at_once_equal_three_runs_of_one():
    step = prefix_step(random_tables(13, 3))
    search = BeamSearch(num_beams=4, n_best=4)

    def run(state):
        start_ids = ops.full(ops.shape(state["source"]), 2, dtype="int32")
        return search(step, state, start_ids, max_length=5)

    run = compiled(run)
    together = as_numpy(run(prefix_state([0, 1, 2])))
    assert len({tuple(ids_of(together, row)) for row in range(3)}) == 3
    for row in range(3):
        expected = SearchResult(*(value[row : row + 1] for value in together))
        assert_same(run(prefix_state([row])), expected)


@given(order=st.permutations(range(BATCH)))
@settings(max_examples=15)
def test_rows_are_independent_of_their_neighbours(order):
    tables = random_tables(6, BATCH)
    run = compiled_search(3, 0.6, 3)
    straight, mixed = as_numpy(run(tables)), as_numpy(run(tables[order]))
    assert_same(mixed, SearchResult(*(value[order] for value in straight)))


def test_a_done_row_stays_as_it_is_while_others_go_on():
    table = log_table({2: {1: 0.9, 3: 0.1}, 3: {3: 1}, 4: {4: 0.9, 5: 0.1}, 5: {5: 1}})
    search = BeamSearch(num_beams=2, n_best=1, length_penalty=0.0)
    result = as_numpy(search(table_step(table), None, np.array([2, 4]), max_length=20))
    assert ids_of(result, 0) == [2, 1]
    assert ids_of(result, 1) == [4] * 20
    assert result.finished.tolist() == [[True], [False]]


def test_cut_hypotheses_take_free_places_only_and_say_so():
    table = log_table({2: {1: 0.01, 3: 0.99}, 3: {3: 0.6, 4: 0.4}, 4: {4: 1}})
    search = BeamSearch(num_beams=3, n_best=3, length_penalty=1.0)
    result = as_numpy(search(table_step(table), None, np.array([2]), max_length=4))
    assert result.finished.tolist() == [[True, False, False]]
    assert result.ids.tolist() == [[[2, 1, 0, 0], [2, 3, 4, 4], [2, 3, 3, 3]]]
    assert result.lengths.tolist() == [[1, 3, 3]]
    log_probs = np.log([0.01, 0.99 * 0.4, 0.99 * 0.36])
    np.testing.assert_allclose(result.log_probs[0], log_probs, atol=1e-5)
    expected = log_probs / np.array([1, 8 / 6, 8 / 6])
    np.testing.assert_allclose(result.scores[0], expected, atol=1e-5)


def test_places_without_a_hypothesis_are_marked():
    table = log_table({2: {3: 1}, 3: {1: 1}})
    search = BeamSearch(num_beams=3, n_best=3)
    result = as_numpy(search(table_step(table), None, np.array([2]), max_length=5))
    assert result.ids.tolist() == [[[2, 3, 1, 0, 0], [2, 0, 0, 0, 0], [2, 0, 0, 0, 0]]]
    assert result.finished.tolist() == [[True, False, False]]
    assert result.lengths.tolist() == [[2, 0, 0]]
    assert result.log_probs[0, 1:].tolist() == [-np.inf, -np.inf]
    assert result.scores[0, 1:].tolist() == [-np.inf, -np.inf]


def test_more_beams_than_the_vocabulary_has_tokens():
    table = log_table({2: {1: 0.5, 2: 0.5}}, vocabulary=3)
    search = BeamSearch(num_beams=7, n_best=4, length_penalty=0.0)
    result = as_numpy(search(table_step(table), None, np.array([2]), max_length=9))
    assert [ids_of(result, 0, place) for place in range(4)] == [
        [2] * count + [1] for count in (1, 2, 3, 4)
    ]
