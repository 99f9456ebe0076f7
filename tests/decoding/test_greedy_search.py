import numpy as np
import pytest
from keras import ops

from keras_transformer.decoding import BeamSearch, GreedySearch
from tests.decoding.tables import (
    as_numpy,
    assert_same,
    at_each_step,
    log_probability,
    log_table,
    prefix_state,
    prefix_step,
    random_tables,
    table_step,
    wait_for_records,
)

CHAIN = log_table({2: {3: 1}, 3: {1: 1}, 1: {4: 1}, 4: {4: 1}, 5: {5: 1}})


def test_rows_finish_on_their_own_and_a_cut_one_says_so():
    result = as_numpy(
        GreedySearch()(table_step(CHAIN), None, np.array([2, 5]), max_length=8)
    )
    assert result.ids.tolist() == [[[2, 3, 1, 0, 0, 0, 0, 0]], [[5] * 8]]
    assert result.finished.tolist() == [[True], [False]]
    assert result.lengths.tolist() == [[2], [7]]
    assert result.log_probs.tolist() == [[0.0], [0.0]]


def test_result_has_the_documented_shapes_and_dtypes():
    result = as_numpy(
        GreedySearch()(table_step(CHAIN), None, np.array([2, 5, 3]), max_length=7)
    )
    assert [value.shape for value in result] == [(3, 1, 7)] + [(3, 1)] * 4
    dtypes = [str(value.dtype) for value in result]
    assert dtypes == ["int32", "float32", "float32", "int32", "bool"]


def test_log_probs_are_the_tokens_sum_and_scores_divide_by_the_penalty():
    tables = random_tables(1, 4)
    result = as_numpy(
        GreedySearch(length_penalty=1.5)(
            prefix_step(tables), prefix_state(range(4)), np.full(4, 2), max_length=5
        )
    )
    for row in range(4):
        length = result.lengths[row, 0]
        ids = result.ids[row, 0, : length + 1].tolist()
        expected = log_probability(tables[row], ids)
        np.testing.assert_allclose(result.log_probs[row, 0], expected, atol=1e-5)
        expected /= ((5 + length) / 6) ** 1.5
        np.testing.assert_allclose(result.scores[row, 0], expected, atol=1e-5)


def test_one_beam_without_length_penalty_is_greedy():
    step = prefix_step(random_tables(2, 200, impossible=0.2))
    arguments = (step, prefix_state(range(200)), np.full(200, 2))
    beam = BeamSearch(num_beams=1, length_penalty=0.0)(*arguments, max_length=5)
    assert_same(beam, GreedySearch()(*arguments, max_length=5))


@pytest.mark.parametrize("search", [GreedySearch(), BeamSearch(num_beams=2)])
def test_the_loop_feeds_one_token_at_a_time_and_stops_when_all_rows_are_done(search):
    seen = []

    def record(index, token_ids):
        seen.append((int(index), ops.convert_to_numpy(token_ids)[0].item()))

    def step(token_ids, state, index):
        at_each_step(record, index, token_ids)
        return table_step(CHAIN)(token_ids, state, index)

    search(step, None, np.array([[4, 5, 2], [4, 5, 3]]), max_length=50)
    wait_for_records()
    assert seen == [(0, 4), (1, 5), (2, 2), (3, 3)]
