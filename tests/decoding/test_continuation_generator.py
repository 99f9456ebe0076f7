"""A language model and a search together, against the whole model at each step."""

from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import (
    BeamSearch,
    ContinuationGenerator,
    GreedySearch,
    LanguageModel,
    Sampling,
)
from keras_transformer.decoding.continuation_generator import moved_right
from keras_transformer.layers import key_value_cache
from tests.backends import BACKEND, array_of, assert_close, compiled, randomize
from tests.layers.positions import Distance, Rotation
from tests.models.small_families import small_language_model

PROMPTS = np.array([[5, 6, 7, 8], [9, 10, 0, 0], [11, 0, 0, 0]], "int32")
TO_THE_LEFT = np.array([[5, 6, 7, 8], [0, 0, 9, 10], [0, 0, 0, 11]], "int32")
NEW = 6
VARIANTS = [
    {"num_layers": 2},  # the mask of what is read at first shows in the second
    {"position": "sinusoidal", "normalize_first": False, "tie_embeddings": False},
    {"position": Rotation(0.5), "num_key_value_heads": 1, "window": 3},
    {"position": Distance(0.25), "query_key_norm": True, "scale_embeddings": True},
]


def made(**options):
    return randomize(small_language_model(**options), scale=0.8)


@pytest.fixture(scope="module")
def model():
    return made(num_layers=2)


def generate(model, search, prompts=PROMPTS, new=NEW, xla=False):
    generator = ContinuationGenerator(model, search, new)
    if BACKEND == "tensorflow":
        generator.jit_compile = xla  # which takes longer to compile than to run
    return generator.predict_on_batch(prompts)


def test_compiled_by_xla_as_by_default(model):
    search = BeamSearch(num_beams=2)
    if BACKEND == "tensorflow":
        assert ContinuationGenerator(model, search, 2).jit_compile is True
    found = generate(model, search, new=3, xla=True)
    expected = generate(model, search, new=3)
    np.testing.assert_array_equal(found["ids"], expected["ids"])
    assert_close(found["scores"], expected["scores"])


def whole_model_again(model, prompt, new):
    """The naive greedy loop, and the log-probability of what it chose."""
    ids, total = [int(token) for token in prompt if token], 0.0
    for step in range(new):
        # Of one width, which is compiled once; a causal model sees no padding behind.
        whole = model.predict_on_batch(np.array([ids + [0] * (12 - len(ids))]))
        logits = array_of(whole)[0, len(ids) - 1].astype("float64")
        log_probs = logits - np.log(np.exp(logits).sum())
        log_probs[0] = -np.inf  # padding is never generated
        ids.append(int(log_probs.argmax()))
        total += log_probs.max()
        if ids[-1] == 1:
            return ids[-step - 1 :] + [0] * (new - step - 1), total
    return ids[-new:], total


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_steps_equal_the_whole_pass(options):
    model = made(**options)
    ids = np.random.default_rng(3).integers(2, 20, (3, 9)).astype("int32")
    ids[:, :4] = TO_THE_LEFT
    expected = array_of(model.predict_on_batch(ids))
    for hypotheses in (1, 2):
        start = compiled(partial(model.start, max_length=9, hypotheses=hypotheses))
        step = compiled(partial(model.step, hypotheses=hypotheses))
        state, shared = start(ids[:, :4])
        for i in range(4, 9):
            rows = np.repeat(ids[:, i], hypotheses)
            index = ops.convert_to_tensor(i, dtype="int32")
            logits, state = step(rows, state, index, shared)
            assert_close(
                logits, np.repeat(expected[:, i], hypotheses, axis=0), atol=3e-5
            )


@pytest.mark.parametrize("options", VARIANTS[:3], ids=str)
def test_greedy_equals_the_whole_model_again(options):
    model = made(**options)
    found = generate(model, GreedySearch())
    seen = set()
    for row, prompt in enumerate(PROMPTS):
        ids, total = whole_model_again(model, prompt, NEW)
        assert found["ids"][row, 0].tolist() == ids
        assert found["log_probs"][row, 0] == pytest.approx(total, abs=1e-4)
        seen |= set(ids)
    assert len(seen) > 1


@pytest.mark.parametrize("search", [GreedySearch(), BeamSearch(num_beams=3, n_best=2)])
def test_a_prompt_is_continued_alone_as_in_a_batch(search, model):
    together = generate(model, search)
    left = generate(model, search, TO_THE_LEFT)
    for name, values in together.items():
        assert_close(left[name], values, message=name)
    alone = generate(model, search, PROMPTS[1:2, :2])
    np.testing.assert_array_equal(alone["ids"][0], together["ids"][1])
    assert_close(alone["scores"][0], together["scores"][1], rtol=1e-4)


def test_beams_have_the_probability_that_the_model_gives_them(model):
    search = BeamSearch(num_beams=4, n_best=4, length_penalty=0.0)
    found = generate(model, search)
    greedy = generate(model, GreedySearch())
    assert (found["log_probs"][:, 0] >= greedy["log_probs"][:, 0] - 1e-5).all()
    for row, prompt in enumerate(PROMPTS):
        prompt = prompt[prompt > 0]
        texts = found["ids"][row]
        assert len({tuple(text) for text in texts}) == 4
        ids = np.concatenate([np.tile(prompt, (4, 1)), texts], axis=1)
        logits = array_of(model.predict_on_batch(ids[:, :-1].astype("int32")))
        logits = logits[:, len(prompt) - 1 :]
        log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        of_text = np.take_along_axis(log_probs, texts[..., None], axis=-1)[..., 0]
        expected = np.where(texts > 0, of_text, 0.0).sum(axis=1)
        assert_close(found["log_probs"][row], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("search", [GreedySearch(), BeamSearch(num_beams=2)])
def test_the_blocks_of_a_cache_change_nothing(search, model, monkeypatch):
    expected = generate(model, search)
    monkeypatch.setattr(key_value_cache, "FIRST_BLOCK", 2)
    monkeypatch.setattr(key_value_cache, "GROWTH", 2)
    found = generate(model, search)
    np.testing.assert_array_equal(found["ids"], expected["ids"])
    assert_close(found["scores"], expected["scores"])


def test_sampling_has_a_seed_and_stays_in_the_vocabulary(model):
    one, same = (generate(model, Sampling(seed=1)) for _ in range(2))
    np.testing.assert_array_equal(one["ids"], same["ids"])
    other = generate(model, Sampling(seed=2))
    assert (one["ids"] != other["ids"]).any()


@pytest.mark.parametrize("seed", [None, 7])
def test_a_generator_of_random_numbers_advances_from_batch_to_batch(seed, model):
    seed = None if seed is None else keras.random.SeedGenerator(seed)
    search = Sampling(seed=seed, min_length=NEW)
    generator = ContinuationGenerator(model, search, NEW)
    drawn = [generator.predict_on_batch(PROMPTS)["ids"].tolist() for _ in range(3)]
    assert drawn[0] != drawn[1] != drawn[2] != drawn[0]


def test_lengths_ends_and_limits(model):
    found = generate(model, GreedySearch(min_length=99))
    assert found["lengths"][:, 0].tolist() == [NEW] * 3
    assert not found["finished"].any()
    short = generate(model, GreedySearch(min_length=99, max_ratio=1.0))
    assert short["lengths"][:, 0].tolist() == [4, 2, 1]
    assert (short["ids"][1, 0, 2:] == 0).all()


def test_n_grams_of_the_prompt_are_not_repeated(model):
    free = generate(model, GreedySearch(min_length=99), new=8)
    first = int(free["ids"][0, 0, 0])
    prompt = np.array([[8, first, 5, 6, 7, 8]], "int32")
    search = GreedySearch(no_repeat_ngram=2)
    assert int(generate(model, search, prompt)["ids"][0, 0, 0]) != first


def test_a_prompt_of_padding_only_has_no_hypothesis(model):
    prompts = np.where(np.arange(3)[:, None] == 1, 0, PROMPTS)
    expected = generate(model, GreedySearch())
    for search in (GreedySearch(), BeamSearch(num_beams=2)):
        found = generate(model, search, prompts)
        assert np.isneginf(found["log_probs"][1]).all()
        assert (found["ids"][1] == 0).all()
    found = generate(model, GreedySearch(), prompts)
    np.testing.assert_array_equal(found["ids"][[0, 2]], expected["ids"][[0, 2]])


def test_moved_right():
    ids = np.array([[1, 2, 0, 0], [0, 3, 4, 0], [5, 0, 6, 7], [0, 0, 0, 0]])
    expected = [[0, 0, 1, 2], [0, 0, 3, 4], [5, 0, 6, 7], [0, 0, 0, 0]]
    assert array_of(moved_right(ops.convert_to_tensor(ids), 0)).tolist() == expected


def test_mixed_precision(model):
    half = LanguageModel.from_config({**model.get_config(), "dtype": "mixed_bfloat16"})
    half.set_weights(model.get_weights())
    found = generate(half, BeamSearch(num_beams=2))
    assert np.isfinite(found["scores"]).all()


def test_a_quantized_model_generates_too():
    model = made()
    model.quantize("int8", filters=None)
    found = generate(model, GreedySearch())
    ids, _ = whole_model_again(model, PROMPTS[0], NEW)
    assert found["ids"][0, 0, 0] == ids[0]


@pytest.mark.tensorflow_only
def test_exported_as_a_function_of_prompts(model, tmp_path):
    import tensorflow as tf

    generator = ContinuationGenerator(model, GreedySearch(), NEW)
    expected = generate(model, GreedySearch())
    module = tf.Module()
    module.weights = [weight.value for weight in model.weights]
    module.serve = tf.function(
        generator.call, input_signature=[tf.TensorSpec((None, 4), "int32")]
    )
    tf.saved_model.save(module, tmp_path / "model")
    served = tf.saved_model.load(tmp_path / "model")
    for rows in (3, 1):
        found = served.serve(PROMPTS[:rows])
        np.testing.assert_array_equal(found["ids"], expected["ids"][:rows])


@pytest.mark.parametrize(
    ("new", "prompts", "error"),
    [
        (0, PROMPTS, r"`max_new_tokens` must be an integer of at least 1.*: 0\."),
        (9, PROMPTS, r"`max_length` must not exceed the model's 12 .*: 13\."),
        (4, PROMPTS[0], r"`prompt_ids` must hold integers .*shape \(4,\)"),
        (4, PROMPTS[:, :0], r"`prompt_ids` must hold integers .*shape \(3, 0\)"),
        (4, PROMPTS * 1.0, r"`prompt_ids` must hold integers .*float"),
    ],
)
def test_errors(new, prompts, error, model):
    with pytest.raises(ValueError, match=error):
        ContinuationGenerator(model, GreedySearch(), new)(prompts)


def test_errors_of_the_model(model):
    with pytest.raises(ValueError, match=r"`max_length` must be at least 1 and.*=4\."):
        model.start(PROMPTS, 3)
    state, shared = model.start(PROMPTS, 4, hypotheses=2)
    with pytest.raises(ValueError, match=r"`hypotheses` must be as it was"):
        model.step(PROMPTS[:, 0], state, 4, shared)
    state, shared = model.start(PROMPTS, 4)
    with pytest.raises(ValueError, match=r"`max_length`=4. Received: index=4"):
        model.step(PROMPTS[:, 0], state, 4, shared)
    with pytest.raises(ValueError, match=r"Special ids must differ"):
        small_language_model(pad_id=1)


class CountsAlike(keras.layers.Layer):
    def call(self, inputs, start_index=0):
        return inputs


def test_a_layer_of_positions_must_take_those_of_each_row():
    with pytest.raises(ValueError, match=r"`position` must be a layer whose call take"):
        small_language_model(position=CountsAlike())
