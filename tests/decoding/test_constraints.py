import functools

import numpy as np
import pytest

from keras_transformer.decoding import BeamSearch, GreedySearch, Sampling
from tests.decoding.tables import (
    as_numpy,
    log_table,
    prefix_state,
    prefix_step,
    random_tables,
    table_step,
)

SEARCHES = [
    pytest.param(lambda **o: GreedySearch(**o), id="greedy"),
    pytest.param(lambda **o: BeamSearch(num_beams=4, n_best=4, **o), id="beam"),
    pytest.param(lambda **o: Sampling(seed=3, **o), id="sampling"),
]


def hypotheses(result):
    """The existing hypotheses as lists of ids, start and end included."""
    result = as_numpy(result)
    for row, place in np.argwhere(np.isfinite(result.log_probs)):
        ids = result.ids[row, place]
        yield ids[: len(ids) - np.argmax(ids[::-1] != 0)].tolist()


@functools.cache
def run(search, count=30, max_length=5, **options):
    tables = random_tables(7, count, limit=max_length)
    step, state = prefix_step(tables), prefix_state(range(count))
    return list(
        hypotheses(
            search(step, state, np.full(count, 2), max_length=max_length, **options)
        )
    )


@pytest.mark.parametrize("make", SEARCHES)
def test_min_length_counts_the_tokens_before_the_end(make):
    assert any(len(ids) < 4 for ids in run(make()))
    ends = [ids.index(1) for ids in run(make(min_length=2)) if 1 in ids]
    assert ends
    assert min(ends) == 3


@pytest.mark.parametrize("make", SEARCHES)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_ngram_occurs_twice(make, size):
    def repeats(ids):
        grams = [tuple(ids[i : i + size]) for i in range(len(ids) - size + 1)]
        return len(grams) != len(set(grams))

    assert any(repeats(ids) for ids in run(make(), max_length=6))
    free = run(make(no_repeat_ngram=size), max_length=6)
    assert free
    assert not any(repeats(ids) for ids in free)


def test_no_repeat_ngram_forbids_nothing_else():
    table = log_table({2: {3: 1}, 3: {4: 0.9, 5: 0.1}, 4: {3: 1}, 5: {1: 1}})
    result = as_numpy(
        GreedySearch(no_repeat_ngram=2)(table_step(table), None, [2], max_length=9)
    )
    # 3 -> 4 has been, so the second 3 must go to 5; the tokens repeat freely.
    assert result.ids.tolist() == [[[2, 3, 4, 3, 5, 1, 0, 0, 0]]]
    expected = np.log(0.9) + np.log(0.1)
    np.testing.assert_allclose(result.log_probs, [[expected]], atol=1e-5)


def test_no_repeat_ngram_sees_the_forced_prefix():
    table = log_table({2: {3: 1}, 3: {4: 0.9, 5: 0.1}, 4: {3: 1}, 5: {1: 1}})
    search = GreedySearch(no_repeat_ngram=2)
    result = as_numpy(search(table_step(table), None, [[2, 3, 4, 3]], max_length=7))
    assert result.ids.tolist() == [[[2, 3, 4, 3, 5, 1, 0]]]


def test_no_repeat_ngram_does_not_wrap_around_to_the_padding():
    table = log_table({0: {3: 0.9, 5: 0.1}, 3: {1: 1}, 5: {1: 1}})
    search = GreedySearch(no_repeat_ngram=2)
    result = as_numpy(search(table_step(table), None, [[3, 0]], max_length=6))
    assert result.ids.tolist() == [[[3, 0, 3, 1, 0, 0]]]


@pytest.mark.parametrize("make", SEARCHES)
def test_banned_tokens_and_padding_are_never_generated(make):
    assert any(4 in ids for ids in run(make()))
    for ids in run(make(banned_tokens=(4,))):
        assert 4 not in ids
        assert 0 not in ids


def test_what_is_forbidden_is_not_shared_out_among_the_rest():
    table = log_table({2: {0: 0.5, 3: 0.3, 4: 0.2}, 4: {1: 1}})
    search = GreedySearch(banned_tokens=[3])
    result = as_numpy(search(table_step(table), None, [2], max_length=4))
    assert result.ids.tolist() == [[[2, 4, 1, 0]]]
    np.testing.assert_allclose(result.log_probs, [[np.log(0.2)]], atol=1e-5)


@pytest.mark.parametrize("make", SEARCHES)
def test_forced_prefix_is_kept_and_not_counted(make):
    table = log_table({2: {4: 1}, 3: {1: 0.25, 4: 0.75}, 4: {1: 1}, 5: {3: 1}})
    start = np.array([[2, 5, 1, 3], [2, 0, 5, 4]])
    search = make(banned_tokens=(5,), length_penalty=1.0)
    result = as_numpy(search(table_step(table), None, start, max_length=8))
    assert (result.ids[:, :, :4] == start[:, None]).all()
    assert result.ids[1, 0].tolist() == [2, 0, 5, 4, 1, 0, 0, 0]
    assert result.lengths[1, 0] == 1
    assert result.log_probs[1, 0] == 0
    length, log_prob = result.lengths[0, 0], result.log_probs[0, 0]
    expected = {1: np.log(0.25), 2: np.log(0.75)}[length]
    np.testing.assert_allclose(log_prob, expected, atol=1e-5)
    expected /= (5 + length) / 6
    np.testing.assert_allclose(result.scores[0, 0], expected, atol=1e-5)


@pytest.mark.parametrize("make", SEARCHES)
def test_a_prefix_longer_than_the_penalty_reaches_back(make):
    table = log_table({2: {2: 0.5, 1: 0.5}}, vocabulary=3)
    start = np.full((1, 12), 2)
    result = as_numpy(
        make(length_penalty=0.5)(table_step(table), None, start, max_length=13)
    )
    assert result.lengths[0, 0] == 1
    np.testing.assert_allclose(result.scores[0, 0], np.log(0.5), atol=1e-5)


@pytest.mark.parametrize("make", SEARCHES)
def test_other_special_ids(make):
    table = log_table({0: {3: 1}, 3: {2: 1}})
    search = make()
    result = as_numpy(
        search(table_step(table), None, [0], max_length=5, end_id=2, pad_id=4)
    )
    assert result.ids[0, 0].tolist() == [0, 3, 2, 4, 4]
    assert result.finished[0, 0]


def test_min_length_beyond_the_limit_cuts_all():
    ids = run(BeamSearch(min_length=50))
    assert ids
    assert not any(1 in row for row in ids)
