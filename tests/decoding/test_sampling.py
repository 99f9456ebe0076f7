import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.decoding import GreedySearch, Sampling
from tests.decoding.tables import (
    as_numpy,
    assert_same,
    compiled,
    log_probability,
    prefix_state,
    prefix_step,
    random_tables,
    table_step,
)

PROBABILITIES = np.array([0.0, 0.05, 0.1, 0.4, 0.25, 0.2])
COUNT = 4000


def frequencies(search, logits=None):
    """How often each token is the first generated one, over many rows."""
    logits = np.log(np.maximum(PROBABILITIES, 1e-30)) if logits is None else logits
    table = np.tile(logits.astype("float32"), (6, 1))
    result = as_numpy(search(table_step(table), None, np.full(COUNT, 2), max_length=2))
    return np.bincount(result.ids[:, 0, 1], minlength=6) / COUNT


def test_tokens_come_as_often_as_the_model_says():
    got = frequencies(Sampling(seed=1))
    np.testing.assert_allclose(got, PROBABILITIES, atol=0.03)
    assert got[0] == 0


def test_temperature_sharpens_and_flattens():
    for temperature in (0.5, 2.0):
        expected = PROBABILITIES ** (1 / temperature)
        expected /= expected.sum()
        got = frequencies(Sampling(seed=2, temperature=temperature))
        np.testing.assert_allclose(got, expected, atol=0.03)


def test_top_k_keeps_the_most_probable_and_renormalises():
    got = frequencies(Sampling(seed=3, top_k=2))
    expected = [0, 0, 0, 0.4 / 0.65, 0.25 / 0.65, 0]
    np.testing.assert_allclose(got, expected, atol=0.03)
    assert got[[0, 1, 2, 5]].sum() == 0


@pytest.mark.parametrize(
    ("top_p", "kept"), [(0.3, [3]), (0.5, [3, 4]), (0.7, [3, 4, 5]), (1.0, range(1, 6))]
)
def test_top_p_keeps_the_smallest_set_that_reaches_it(top_p, kept):
    got = frequencies(Sampling(seed=4, top_p=top_p))
    expected = np.zeros(6)
    expected[list(kept)] = PROBABILITIES[list(kept)]
    expected /= expected.sum()
    np.testing.assert_allclose(got, expected, atol=0.03)
    assert (np.flatnonzero(got) == list(kept)).all()


def test_impossible_tokens_never_come():
    logits = np.array([-np.inf, -np.inf, 0.0, -np.inf, -60.0, -np.inf])
    assert frequencies(Sampling(seed=5), logits)[[0, 1, 3, 5]].sum() == 0


@pytest.mark.parametrize(
    "options", [{"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-6}]
)
def test_the_narrowest_choice_is_greedy(options):
    step = prefix_step(random_tables(8, 20))
    arguments = (step, prefix_state(range(20)), np.full(20, 2))
    result = Sampling(seed=1, **options)(*arguments, max_length=5)
    assert_same(result, GreedySearch()(*arguments, max_length=5))


def test_log_probs_are_the_models_own():
    tables = random_tables(9, 20)
    search = Sampling(seed=1, temperature=3.0, top_k=3)
    result = as_numpy(
        search(
            prefix_step(tables), prefix_state(range(20)), np.full(20, 2), max_length=5
        )
    )
    assert len(np.unique(result.lengths)) > 1
    for row, table in enumerate(tables):
        ids = result.ids[row, 0, : result.lengths[row, 0] + 1].tolist()
        expected = log_probability(table, ids)
        np.testing.assert_allclose(result.log_probs[row, 0], expected, atol=1e-5)


def runner(search):
    step = prefix_step(random_tables(10, 50))

    def run(start_ids):
        return search(step, prefix_state(range(50)), start_ids, max_length=5)

    return run


def test_a_seed_gives_the_same_tokens_at_every_call_and_compiled():
    run, start_ids = runner(Sampling(seed=11)), np.full(50, 2)
    first = run(start_ids)
    assert_same(run(start_ids), first)
    assert_same(compiled(run)(start_ids), first)
    other = runner(Sampling(seed=12))(start_ids)
    assert (as_numpy(other).ids != as_numpy(first).ids).any()


@pytest.mark.parametrize("seed", [None, 7])
def test_a_generator_advances(seed):
    generator = None if seed is None else keras.random.SeedGenerator(seed)
    run = runner(Sampling(seed=generator))
    first, second = (as_numpy(run(np.full(50, 2))).ids for _ in range(2))
    assert (first != second).any()


def test_rows_and_positions_draw_on_their_own():
    def step(token_ids, state, index):
        return ops.zeros((token_ids.shape[0], 50)), state

    search = Sampling(seed=1, banned_tokens=[2], min_length=9)
    result = as_numpy(search(step, None, np.full(6, 2), max_length=10))
    assert len(np.unique(result.ids[:, 0], axis=0)) == 6
    assert all(len(np.unique(row)) > 3 for row in result.ids[:, 0])
