"""The model of the well-known tutorials: Keras's own `MultiHeadAttention`, no more."""

import keras
import numpy as np
from keras import layers

from benchmarks.training_arms.keras_fit import KerasTrainer
from benchmarks.training_task import DROPOUT


def tutorial_trainer(task, **options):
    """Make a trainer of the model: three tables, masks of padding from Keras.

    Heads are as wide as the paper's, so that the arithmetic is that of the other arms.

    Args:
        task: a `TrainingTask`.
        **options: of `KerasTrainer`.
    """
    size = task.model
    source = keras.Input((None,), dtype="int32", name="source_ids")
    target = keras.Input((None,), dtype="int32", name="target_ids")
    memory, x = _embedded(source, task), _embedded(target, task)
    for _ in range(size["num_layers"]):
        memory = _attended(memory, memory, size)
        memory = _fed_forward(memory, size)
    for _ in range(size["num_layers"]):
        x = _attended(x, x, size, use_causal_mask=True)
        x = _attended(x, memory, size)
        x = _fed_forward(x, size)
    logits = layers.Dense(size["vocabulary_size"])(x)
    model = keras.Model({"source_ids": source, "target_ids": target}, logits)
    return KerasTrainer(model, task, **options)


def _embedded(ids, task):
    width = task.model["hidden_dim"]
    x = layers.Embedding(task.model["vocabulary_size"], width, mask_zero=True)(ids)
    x = x * width**0.5 + _sinusoids(task.length, width)
    return layers.Dropout(DROPOUT)(x)


def _sinusoids(length, width):
    """Return the paper's positions (length, width), sines before cosines."""
    rates = 10000.0 ** (-np.arange(0, width, 2) / width)
    angles = np.arange(length)[:, None] * rates
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype("float32")


def _attended(x, memory, size, **options):
    attention = layers.MultiHeadAttention(
        size["num_heads"], size["hidden_dim"] // size["num_heads"], dropout=DROPOUT
    )
    y = layers.Dropout(DROPOUT)(attention(x, memory, **options))
    return layers.LayerNormalization(epsilon=1e-5)(layers.Add()([x, y]))


def _fed_forward(x, size):
    y = layers.Dense(size["intermediate_dim"], activation="relu")(x)
    y = layers.Dropout(DROPOUT)(layers.Dense(size["hidden_dim"])(y))
    return layers.LayerNormalization(epsilon=1e-5)(layers.Add()([x, y]))
