"""A search that begins behind a prefix which the state has read."""

import numpy as np
import pytest
from keras import ops

from keras_transformer import BeamSearch, GreedySearch, Sampling
from tests.backends import array_of, compiled
from tests.decoding.tables import prefix_state, prefix_step, random_tables

TABLES = random_tables(3, 2, limit=7)
PREFIX = np.array([[2, 3, 4], [2, 4, 4]], "int32")
SEARCHES = [
    GreedySearch(),
    GreedySearch(no_repeat_ngram=2),
    BeamSearch(num_beams=3, n_best=3, length_penalty=0.6),
    BeamSearch(num_beams=2, min_length=2, min_ratio=0.5),
    Sampling(seed=5),
]


def run(search, start_index):
    step, state = prefix_step(TABLES), prefix_state([0, 1])
    for i in range(start_index):  # what the state has read
        _, state = step(PREFIX[:, i], state, i)
    return search(
        step, state, PREFIX, max_length=7, start_index=start_index,
        source_lengths=np.array([3, 3]),
    )  # fmt: skip


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
def test_the_result_is_that_of_the_whole_prefix(search):
    expected, one, two = compiled(lambda: [run(search, start) for start in range(3)])()
    for found in (one, two):
        np.testing.assert_array_equal(array_of(found.ids), array_of(expected.ids))
        np.testing.assert_allclose(
            array_of(found.scores), array_of(expected.scores), rtol=1e-5
        )
        np.testing.assert_array_equal(
            array_of(found.lengths), array_of(expected.lengths)
        )


def test_no_step_is_taken_before_the_first_index():
    """Each step says how many there were before it."""

    def step(token_ids, count, index):
        return ops.one_hot(count + 4, 9), count + 1

    count, options = np.zeros(2, "int32"), {"max_length": 6, "start_index": 2}
    result = GreedySearch()(step, count, PREFIX, **options)
    assert array_of(result.ids)[0, 0].tolist() == [2, 3, 4, 4, 5, 6]


@pytest.mark.parametrize("start_index", [3, -1, 1.0])
def test_an_index_outside_the_prefix(start_index):
    with pytest.raises(ValueError, match=r"`start_index` must be .* Received: "):
        GreedySearch()(
            prefix_step(TABLES), prefix_state([0, 1]), PREFIX, max_length=7,
            start_index=start_index,
        )  # fmt: skip
