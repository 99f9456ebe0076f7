"""Attention maps to draw, of random weights that are told apart by their numbers."""

import numpy as np

from keras_transformer.visualization import AttentionMaps

SOURCE = ["▁two", "▁dogs", "▁run", "</s>"]
TARGET = ["▁zwei", "▁hun", "de", "▁lau", "fen"]


def some_maps(source=SOURCE, target=TARGET, layers=2, heads=3):
    """Make maps of a source with its end, and a target without start and end."""
    random = np.random.default_rng(5)
    read, predicted = ["<s>", *target], [*target, "</s>"]

    def weights(queries, keys, causal=False):
        raw = random.exponential(size=(layers, heads, queries, keys)) ** 2
        raw = np.tril(raw) if causal else raw
        return (raw / raw.sum(axis=-1, keepdims=True)).astype("float32")

    return AttentionMaps(
        list(source),
        read,
        predicted,
        encoder=weights(len(source), len(source)),
        decoder=weights(len(read), len(read), causal=True),
        cross=weights(len(read), len(source)),
    )
