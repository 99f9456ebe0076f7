"""What padding, segments and pooling do to an encoder and its heads."""

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer import (
    Encoder,
    MaskedLanguageModel,
    SmoothedCrossEntropy,
    TextClassifier,
    TokenMasking,
)
from tests.backends import BACKEND, array_of, assert_close, randomize
from tests.models.small_families import (
    IDS,
    SEGMENTS,
    small_encoder,
    small_language_model,
    small_masked_model,
    small_text_classifier,
)

REAL = IDS != 0


@pytest.fixture(scope="module")
def encoder():
    return randomize(small_encoder(num_segments=2, num_layers=2), scale=0.3)


@pytest.fixture(scope="module")
def language_model():
    return randomize(small_language_model(num_layers=2), scale=0.3)


def padded(ids, columns, before=0):
    return np.pad(ids, ((0, 0), (before, columns)))


@settings(max_examples=6)
@given(length=st.integers(1, 4), columns=st.integers(1, 4), seed=st.integers(0, 99))
def test_padding_does_not_reach_real_positions(encoder, length, columns, seed):
    ids = np.random.default_rng(seed).integers(1, 20, (2, length)).astype("int32")
    inputs = {"token_ids": ids, "segment_ids": ids % 2}
    longer = {name: padded(array, columns) for name, array in inputs.items()}
    longer["segment_ids"][:, length:] = seed % 2
    expected = encoder.predict_on_batch(inputs)
    assert_close(encoder.predict_on_batch(longer)[:, :length], expected)


@settings(max_examples=6)
@given(
    length=st.integers(1, 4), before=st.integers(0, 3), behind=st.integers(0, 3),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_padding_on_either_side_of_a_text(language_model, length, before, behind, seed):
    ids = np.random.default_rng(seed).integers(1, 20, (2, length)).astype("int32")
    expected = language_model.predict_on_batch(ids)
    found = language_model.predict_on_batch(padded(ids, behind, before))
    assert_close(found[:, before : before + length], expected)


def test_a_language_model_sees_no_later_token(language_model):
    expected = array_of(language_model(IDS))
    changed = np.where(np.arange(5) == 3, 11, IDS)
    found = array_of(language_model(changed))
    assert_close(found[:, :3], expected[:, :3])
    assert np.abs(found[0, 3:] - expected[0, 3:]).min(axis=0).max() > 1e-3


def test_an_encoder_sees_both_sides_and_its_segments(encoder):
    inputs = {"token_ids": IDS, "segment_ids": SEGMENTS}
    expected = array_of(encoder(inputs))
    later = {**inputs, "token_ids": np.where(np.arange(5) == 4, 11, IDS)}
    assert np.abs(array_of(encoder(later))[0, 0] - expected[0, 0]).max() > 1e-3
    other = {**inputs, "segment_ids": np.where(np.arange(5) == 0, 1, SEGMENTS)}
    assert np.abs(array_of(encoder(other))[0] - expected[0]).max() > 1e-3
    with pytest.raises(ValueError, match=r"`vocabulary_size`=2\).*ids from 0 to 2"):
        encoder({**inputs, "segment_ids": 2 * SEGMENTS})


def test_more_tokens_than_positions():
    long = np.ones((1, 13), "int32")
    with pytest.raises(ValueError, match=r"`max_length`=9.*length=13"):
        small_encoder()(long)
    model = small_language_model()
    with pytest.raises(ValueError, match=r"`max_length`=12.*: 12\."):
        model(long)
    assert model.max_length == 12
    assert small_encoder().max_length == 9
    assert np.isfinite(array_of(model(padded(long[:, :12], 5)))[:, :12]).all()
    if BACKEND != "torch":  # which compiles nothing, and knows the values
        assert np.isnan(model.predict_on_batch(long)[:, 12]).all()


def test_positions_that_are_not_learned_have_no_end():
    for make in (small_encoder, small_language_model):
        model = make(position="sinusoidal")
        assert model.max_length is None
        assert np.isfinite(array_of(model(np.ones((1, 30), "int32")))).all()
        with pytest.raises(ValueError, match=r"nothing else.*max_length=4"):
            make(position="sinusoidal", max_length=4)
    defaults = Encoder(20, num_layers=1, hidden_dim=4, num_heads=1, intermediate_dim=4)
    assert defaults.max_length == 512


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_pooling(policy):
    inputs = {"token_ids": IDS, "segment_ids": SEGMENTS}
    tolerance = {"atol": 1e-5 if policy == "float32" else 2e-2}
    for pooling in ("first", "mean"):
        model = small_text_classifier(pooling, pooler=False, dtype=policy)
        randomize(model, scale=0.3)
        hidden = array_of(model.encoder(inputs))
        weights = REAL / REAL.sum(axis=1, keepdims=True)
        mean = (hidden * weights[..., None]).sum(axis=1)
        pooled = hidden[:, 0] if pooling == "first" else mean
        kernel, bias = (array_of(w) for w in model.get_layer("classes").weights)
        assert_close(model(inputs), pooled @ kernel + bias, **tolerance)
        longer = {name: padded(array, 3) for name, array in inputs.items()}
        assert_close(model(longer), model(inputs), **tolerance)


def test_a_text_of_padding_only_is_finite():
    model = randomize(small_text_classifier("mean"), scale=0.3)
    empty = {"token_ids": 0 * IDS, "segment_ids": 0 * IDS}
    assert np.isfinite(array_of(model(empty))).all()


def test_heads_share_the_encoder():
    encoder = small_encoder()
    masked, classifier = MaskedLanguageModel(encoder), TextClassifier(encoder, 2)
    before = array_of(classifier(IDS))
    table = encoder.parts.embedding.embeddings
    table.assign(table + 1.0 * np.arange(16))
    assert np.abs(array_of(classifier(IDS)) - before).max() > 1e-4
    own = {id(weight) for weight in encoder.weights}
    assert own < {id(weight) for weight in masked.weights}
    assert own < {id(weight) for weight in classifier.weights}


@pytest.mark.parametrize("kind", [MaskedLanguageModel, lambda x: TextClassifier(x, 2)])
def test_only_an_encoder_is_an_encoder(kind):
    with pytest.raises(ValueError, match=r"`encoder` must be an Encoder\. Received:"):
        kind(small_language_model())


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"num_classes": 0}, r"`num_classes` must be an integer.*: 0\."),
        ({"pooling": "last"}, r"`pooling` must be one of 'first', 'mean'.*'last'"),
        ({"dropout": 1}, r"`dropout` must be in \[0, 1\)\. Received: 1\."),
    ],
)
def test_errors_of_the_classifier(options, error):
    with pytest.raises(ValueError, match=error):
        TextClassifier(small_encoder(), **{"num_classes": 2, **options})


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"pad_id": 20}, r"`pad_id` must be an integer from 0 to 19.*: 20\."),
        ({"num_segments": -1}, r"`num_segments` must be an integer.*: -1\."),
    ],
)
def test_errors_of_the_encoder(options, error):
    with pytest.raises(ValueError, match=error):
        small_encoder(**options)


def test_a_masked_model_learns_the_token_that_stands_twice():
    """Each text is one token, repeated: what is masked can be read beside it."""
    rng = np.random.default_rng(0)
    masking = TokenMasking(20, mask_id=3, special_ids=[1, 2], rate=0.3, seed=1)
    keras.utils.set_random_seed(1)
    model = small_masked_model(position=None)
    model.compile(
        keras.optimizers.Adam(0.01), SmoothedCrossEntropy(),
        jit_compile=BACKEND == "jax",
    )  # fmt: skip
    losses = []
    for _ in range(60):
        tokens = np.repeat(rng.integers(4, 20, (32, 1)), 6, axis=1).astype("int32")
        losses.append(model.train_on_batch(*masking(tokens)))
    assert losses[-1] < 0.3 * losses[0], losses[::10]
