"""A model and a search together: caches, limits and padding."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import BeamSearch, GreedySearch, Sampling, Transformer
from keras_transformer.decoding import SequenceGenerator, SequenceScorer
from keras_transformer.decoding.length_limit import (
    capacities,
    target_limit,
)
from keras_transformer.layers import key_value_cache

VOCABULARY = 30
SOURCES = np.array([[5, 6, 7, 8, 1], [9, 10, 1, 0, 0], [11, 1, 0, 0, 0]])


@pytest.fixture(scope="module", params=[False, True], ids=["post-norm", "pre-norm"])
def model(request):
    return Transformer(
        VOCABULARY,
        num_layers=2,
        hidden_dim=16,
        num_heads=4,
        intermediate_dim=24,
        normalize_first=request.param,
        seed=3,
    )


def generate(model, search, sources=SOURCES, max_length=9, **options):
    generator = SequenceGenerator(model, search, max_length, **options)
    return generator.predict_on_batch(sources)


@pytest.mark.parametrize("search", [GreedySearch(), BeamSearch(min_length=8)])
def test_the_blocks_of_a_cache_change_nothing(search, model, monkeypatch):
    expected = generate(model, search, max_length=12)
    monkeypatch.setattr(key_value_cache, "FIRST_BLOCK", 2)
    monkeypatch.setattr(key_value_cache, "GROWTH", 2)
    assert key_value_cache.block_ends(12) == [2, 4, 8, 12]
    found = generate(model, search, max_length=12)
    np.testing.assert_array_equal(found["ids"], expected["ids"])
    np.testing.assert_allclose(found["scores"], expected["scores"], rtol=1e-5)


@pytest.mark.parametrize("seed", [None, 7])
def test_a_generator_of_random_numbers_advances_from_batch_to_batch(seed, model):
    seed = None if seed is None else keras.random.SeedGenerator(seed)
    generator = SequenceGenerator(model, Sampling(seed=seed, min_length=8), 9)
    drawn = [generator.predict_on_batch(SOURCES)["ids"].tolist() for _ in range(3)]
    assert drawn[0] != drawn[1] != drawn[2] != drawn[0]
    whole = [generator.predict(SOURCES, verbose=0)["ids"].tolist() for _ in range(2)]
    assert whole[0] != whole[1]


def test_an_integer_seed_draws_the_same_for_each_batch(model):
    generator = SequenceGenerator(model, Sampling(seed=7, min_length=8), 9)
    one, same = (generator.predict_on_batch(SOURCES)["ids"] for _ in range(2))
    np.testing.assert_array_equal(one, same)


def greedy_without_cache(model, source, length):
    """The tutorial's loop: the whole decoder again for each position."""
    target = [2]
    while len(target) < length and target[-1] != 1:
        inputs = {"source_ids": source[None], "target_ids": np.array([target])}
        logits = np.array(ops.convert_to_numpy(model(inputs))[0, -1])
        logits[0] = -np.inf  # padding is never generated
        target.append(int(logits.argmax()))
    return target + [0] * (length - len(target))


def test_greedy_with_caches_equals_the_whole_decoder_again(model):
    found = generate(model, GreedySearch())
    for source, ids in zip(SOURCES, found["ids"][:, 0], strict=True):
        assert ids.tolist() == greedy_without_cache(model, source, 9)


def test_log_probabilities_equal_those_of_the_whole_decoder(model):
    found = generate(model, BeamSearch(num_beams=4, n_best=4, length_penalty=0.6))
    scorer = SequenceScorer(model)
    for row, source in enumerate(SOURCES):
        labels = found["ids"][row, :, 1:]
        scored = scorer.predict_on_batch(
            {
                "source_ids": np.tile(source, (4, 1)),
                "target_ids": found["ids"][row, :, :-1],
                "labels": labels,
            }
        )
        np.testing.assert_allclose(
            scored["log_probs"], found["log_probs"][row], rtol=1e-4, atol=1e-5
        )
        np.testing.assert_array_equal(scored["lengths"], found["lengths"][row])


@pytest.mark.parametrize("search", [GreedySearch(), BeamSearch(num_beams=3)])
def test_a_source_alone_gives_what_it_gives_in_a_batch(model, search):
    together = generate(model, search)
    for row, source in enumerate(SOURCES):
        alone = generate(model, search, source[source > 0][None])
        np.testing.assert_array_equal(alone["ids"][0], together["ids"][row])
        np.testing.assert_allclose(
            alone["scores"][0], together["scores"][row], rtol=1e-4, atol=1e-5
        )


def test_more_capacity_than_needed_changes_nothing(model):
    search = BeamSearch(num_beams=2)
    exact = generate(model, search, max_length=6)
    roomy = generate(model, search, max_length=6, capacity=11)
    np.testing.assert_array_equal(exact["ids"], roomy["ids"][:, :, :6])
    assert (roomy["ids"][:, :, 6:] == 0).all()
    np.testing.assert_allclose(exact["scores"], roomy["scores"], rtol=1e-5)
    np.testing.assert_array_equal(exact["finished"], roomy["finished"])


def test_each_source_has_the_limit_of_its_own_length(model):
    search = GreedySearch(min_length=99)  # never ends
    found = generate(model, search, max_length=24)
    assert not found["finished"].any()
    # min(2 * length + 16, 24) positions, less the start token
    assert found["lengths"][:, 0].tolist() == [23, 21, 19]
    beams = generate(model, BeamSearch(num_beams=2, min_length=99), max_length=24)
    assert beams["lengths"][:, 0].tolist() == [23, 21, 19]


def test_limits_and_capacities():
    assert target_limit(5, 100) == 26
    assert target_limit(50, 100) == 100
    assert capacities(256) == [32, 64, 128, 256]
    assert capacities(40) == [32, 40]
    assert capacities(8) == [8]


def test_a_limit_beyond_the_models_positions_is_an_error():
    model = Transformer(
        VOCABULARY,
        num_layers=1,
        hidden_dim=8,
        num_heads=2,
        intermediate_dim=8,
        position="learned",
        max_length=4,
    )
    with pytest.raises(ValueError, match="must not exceed the model's 4 positions"):
        generate(model, GreedySearch(), max_length=5)
