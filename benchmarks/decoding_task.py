"""What all arms of the decoding benchmark do: sizes, sources, weights."""

from dataclasses import dataclass

import numpy as np

TOKENS = 32  # of a source, its end included, and of a target
ROWS = 32  # sentences of a batch
SIZES = {
    "S": {
        "vocabulary_size": 8000,
        "num_layers": 3,
        "hidden_dim": 256,
        "num_heads": 8,
        "intermediate_dim": 1024,
    },
    "T": {
        "vocabulary_size": 8000,
        "num_layers": 4,
        "hidden_dim": 128,
        "num_heads": 4,
        "intermediate_dim": 256,
    },
    "tiny": {
        "vocabulary_size": 500,
        "num_layers": 1,
        "hidden_dim": 32,
        "num_heads": 4,
        "intermediate_dim": 64,
    },
}
PAD, END, START = 0, 1, 2


@dataclass(frozen=True)
class DecodingTask:
    """Sources to decode, and the model to do it with.

    Attributes:
        size: a key of `SIZES`.
        batches: number of batches given at once.
    """

    size: str = "S"
    batches: int = 4

    @property
    def options(self):
        """Sizes by the names of `Transformer`'s arguments."""
        return SIZES[self.size]

    def sources(self):
        """Return random ids, int32 (batches, rows, tokens), the same every time."""
        rng = np.random.default_rng(1)
        shape = (self.batches, ROWS, TOKENS)
        ids = rng.integers(START + 1, self.options["vocabulary_size"], shape)
        ids[..., -1] = END
        return ids.astype("int32")


def random_model(task):
    """Make a `Transformer` whose random weights are the same on every backend.

    With those of the start of a training each token would repeat the one before. Here
    attention outweighs the rest, and the targets are of many tokens.
    """
    from keras_transformer import Transformer  # keeps other arms free of Keras

    model = Transformer(**task.options, dropout=0.0)
    rng = np.random.default_rng(0)
    for weight in model.trainable_weights:
        noise = rng.normal(size=weight.shape)
        if weight.name == "gamma":
            value = 1 + 0.1 * noise
        elif weight.name in ("beta", "bias"):
            value = 0.0 * noise
        else:
            value = _gain(weight.path) * noise / np.sqrt(task.options["hidden_dim"])
        weight.assign(value.astype("float32"))
    return model


def _gain(path):
    gains = {"query": 4, "key": 4, "feed_forward": 0.5, "embeddings": 4}
    return next((gain for name, gain in gains.items() if name in path), 8)
