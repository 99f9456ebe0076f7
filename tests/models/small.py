"""A small Transformer and ids for it."""

import numpy as np

from keras_transformer import Transformer

SOURCE = np.array([[3, 4, 5, 0, 0], [6, 7, 8, 9, 2]], "int32")
TARGET = np.array([[2, 5, 6], [2, 7, 0]], "int32")
REAL = TARGET != 0


def small_transformer(**options):
    """Vocabulary 20, width 16, 2 heads, 3 + 3 layers, no dropout, seeded."""
    size = {
        "num_layers": 3,
        "hidden_dim": 16,
        "num_heads": 2,
        "intermediate_dim": 32,
        "dropout": 0.0,
    }
    return Transformer(20, **{**size, **options})


def inputs_of(source=SOURCE, target=TARGET):
    return {"source_ids": source, "target_ids": target}
