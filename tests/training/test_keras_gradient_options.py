"""Gradient accumulation and clipping as Keras has them, with losses of real tokens."""

import keras
import numpy as np
import pytest

from keras_transformer import SmoothedCrossEntropy
from tests.backends import BACKEND
from tests.training.runs import letter_model


def pairs(rows, real, seed=8):
    """Rows of 5 labels, of which the first few are real."""
    generator = np.random.default_rng([seed, rows, real])
    source = generator.integers(4, 10, (rows, 4)).astype("int32")
    labels = generator.integers(4, 10, (rows, 5)).astype("int32")
    labels[:, real:] = 0
    target = np.concatenate([np.full((rows, 1), 2), labels[:, :-1]], axis=1)
    return {"source_ids": source, "target_ids": target.astype("int32")}, labels


def joined(*batches):
    inputs = {
        name: np.concatenate([batch[0][name] for batch in batches])
        for name in batches[0][0]
    }
    return inputs, np.concatenate([labels for _, labels in batches])


def change(*batches, **options):
    """How one step, or one for each of several micro-batches, changes the weights."""
    model = letter_model(dropout=0.0)
    model.compile(
        keras.optimizers.SGD(1.0, **options), SmoothedCrossEntropy(0.1),
        jit_compile=False,
    )  # fmt: skip
    before = model.get_weights()
    for inputs, labels in batches:
        model.train_on_batch(inputs, labels)
    pairs = zip(model.get_weights(), before, strict=True)
    return np.concatenate([(after - old).ravel() for after, old in pairs])


def assert_equal(actual, expected):
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(actual, expected, atol=1e-6)


def test_micro_batches_with_as_many_real_tokens_are_one_batch():
    one, two = pairs(3, real=4), pairs(3, real=4, seed=9)
    accumulated = change(one, two, gradient_accumulation_steps=2)
    assert_equal(accumulated, change(joined(one, two)))


def test_the_mean_is_over_micro_batches_not_over_tokens():
    long, short = pairs(3, real=5), pairs(3, real=1)
    accumulated = change(long, short, gradient_accumulation_steps=2)
    assert_equal(accumulated, (change(long) + change(short)) / 2)
    tokens = (15 * change(long) + 3 * change(short)) / 18
    assert_equal(change(joined(long, short)), tokens)
    assert np.abs(accumulated - tokens).max() > 1e-3


def test_nothing_changes_before_the_last_micro_batch():
    assert not change(pairs(3, real=4), gradient_accumulation_steps=2).any()


@pytest.mark.parametrize("steps", [None, 2])
def test_clipping_is_of_the_gradient_of_all_weights(steps):
    batches = [pairs(3, real=5), pairs(3, real=2)][: steps or 1]
    options = {"gradient_accumulation_steps": steps}
    free = change(*batches, **options)
    norm = np.linalg.norm(free)
    clipped = change(*batches, global_clipnorm=0.3 * norm, **options)
    share = np.linalg.norm(clipped) / norm
    assert 0 < share < 0.5
    assert_equal(clipped, share * free)
    # On TensorFlow Keras counts the rows of an embedding's gradient one by one, unless
    # it has added them up before.
    if steps or BACKEND != "tensorflow":
        assert share == pytest.approx(0.3, rel=1e-4)
        assert_equal(change(*batches, global_clipnorm=2 * norm, **options), free)
