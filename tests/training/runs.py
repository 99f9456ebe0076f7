"""Small runs of `fit` that can be interrupted."""

import keras
import numpy as np
import pytest

from keras_transformer import (
    InverseSqrtSchedule,
    SmoothedCrossEntropy,
    Transformer,
    TranslationData,
)
from tests.backends import BACKEND

TOLERANCE = 0.0 if BACKEND == "tensorflow" else 1e-6


class Letters:
    """One id per letter: a is 4, b is 5, ..."""

    def tokenize(self, texts):
        return [[ord(letter) - 93 for letter in text] for text in texts]


class Interruption(Exception):
    pass


class InterruptAt(keras.callbacks.Callback):
    """End a run at the beginning of a batch."""

    def __init__(self, epoch, batch):
        super().__init__()
        self.at = (epoch, batch)

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_begin(self, batch, logs=None):
        if (self.epoch, batch) == self.at:
            raise Interruption


def letter_data(pairs=90, seed=0):
    """Batches of one shape, shuffled."""
    rng = np.random.default_rng(4)
    words = [
        ("".join(rng.choice(list("abcdef"), length)),) * 2
        for length in rng.integers(2, 8, pairs)
    ]
    return TranslationData(
        words, Letters(), tokens_per_batch=200, max_length=10, max_shapes=1, seed=seed
    )


def transformer():
    return Transformer(
        10,
        num_layers=1,
        hidden_dim=8,
        num_heads=2,
        intermediate_dim=8,
        dropout=0.2,
    )


def letter_model(
    seed=0, *, hidden_dim=8, num_layers=1, dropout=0.2, dtype=None, optimizer=None
):
    """A model with dropout that is compiled in no time."""
    keras.utils.set_random_seed(seed)
    source = keras.Input((None,), dtype="int32", name="source_ids")
    target = keras.Input((None,), dtype="int32", name="target_ids")
    embed = keras.layers.Embedding(10, hidden_dim, dtype=dtype)
    context = keras.layers.GlobalMaxPooling1D(keepdims=True)(embed(source))
    # Without a seed Keras's dropout draws from a state of PyTorch's.
    x = keras.layers.Dropout(dropout, seed=100 * seed)(embed(target) + context)
    for layer in range(1, num_layers + 1):
        x = keras.layers.Dense(10, dtype=dtype)(x)
        x = keras.layers.Dropout(dropout, seed=100 * seed + layer)(x)
    model = keras.Model({"source_ids": source, "target_ids": target}, x)
    return scheduled(model, optimizer)


def scheduled(model, optimizer=None):
    """Compile a model, with Adam and the paper's schedule if nothing else is said."""
    if optimizer is None:
        optimizer = keras.optimizers.Adam(InverseSqrtSchedule(8, 6), beta_2=0.98)
    model.compile(optimizer, SmoothedCrossEntropy(0.1), jit_compile=BACKEND == "jax")
    return model


def fit(model, dataset, callbacks, interrupt=None, **options):
    """Fit, to the end or to an interruption at (epoch, batch)."""
    options = {"verbose": 0, "shuffle": False, **options}
    if interrupt is None:
        return model.fit(dataset, callbacks=callbacks, **options)
    with pytest.raises(Interruption):
        model.fit(dataset, callbacks=[*callbacks, InterruptAt(*interrupt)], **options)
    return None


def state_of(model):
    """All variables of a model and its optimizer, by group."""
    return {
        "model": [np.array(v.numpy()) for v in model.variables],
        "optimizer": [np.array(v.numpy()) for v in model.optimizer.variables],
    }


def assert_same_state(actual, expected):
    for group in ("model", "optimizer"):
        assert len(actual[group]) == len(expected[group]) > 0
        for one, other in zip(actual[group], expected[group], strict=True):
            np.testing.assert_allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE)
