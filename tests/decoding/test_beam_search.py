import numpy as np
import pytest
from keras import ops

from keras_transformer.decoding import BeamSearch, SearchResult
from tests.decoding.tables import (
    as_numpy,
    assert_same,
    at_each_step,
    compiled,
    ids_of,
    log_table,
    prefix_state,
    prefix_step,
    random_tables,
    table_step,
    wait_for_records,
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


@pytest.mark.parametrize(("alpha", "steps"), [(0.0, 1), (1.0, 3), (-3.0, 1)])
def test_the_loop_ends_when_no_live_beam_can_win(alpha, steps):
    # The pool holds log .6. After n steps the best live beam has log(.4 * .7^(n-1));
    # at alpha 1 the penalty of 12 tokens, 17/6, keeps it in the race for 3 steps.
    rows = {2: {1: 0.6, 3: 0.4}, 3: {3: 0.7, 4: 0.3}, 4: {4: 1}}
    indices = []

    def step(token_ids, state, index):
        at_each_step(lambda index: indices.append(int(index)), index)
        return table_step(log_table(rows))(token_ids, state, index)

    search = BeamSearch(num_beams=2, length_penalty=alpha)
    search(step, None, np.array([2]), max_length=13)
    wait_for_records()
    assert indices == list(range(steps))


def test_a_source_may_have_a_limit_of_its_own():
    tables = random_tables(14, 4)
    search, step = BeamSearch(n_best=4), prefix_step(tables)
    limits = np.array([1, 3, 5, 4])
    result = as_numpy(
        search(step, prefix_state(range(4)), [2] * 4, max_length=5, limits=limits)
    )
    for row, limit in enumerate(limits):
        alone = as_numpy(search(step, prefix_state([row]), [2], max_length=int(limit)))
        padding = np.zeros((1, 4, 5 - limit), "int32")
        alone = alone._replace(ids=np.concatenate([alone.ids, padding], axis=-1))
        assert_same(SearchResult(*(value[row : row + 1] for value in result)), alone)


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
