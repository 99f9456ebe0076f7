"""Sizes of models by name, for `train --size`."""

# `tiny` and `base` are `transformer_tiny` and `transformer_base`. The highest learning
# rate falls with the width.
SIZES = {
    "tiny": {
        "num_layers": 4,
        "hidden_dim": 128,
        "num_heads": 4,
        "intermediate_dim": 256,
        "dropout": 0.3,
        "learning_rate": 0.003,
    },
    "small": {
        "num_layers": 4,
        "hidden_dim": 256,
        "num_heads": 4,
        "intermediate_dim": 1024,
        "dropout": 0.1,
        "learning_rate": 0.002,
    },
    "base": {
        "num_layers": 6,
        "hidden_dim": 512,
        "num_heads": 8,
        "intermediate_dim": 2048,
        "dropout": 0.1,
        "learning_rate": 0.0007,
    },
}
SIZE_OPTIONS = tuple(SIZES["tiny"])
