"""What all arms of the training benchmark do: sizes, batches, arithmetic."""

from dataclasses import dataclass

import numpy as np

from benchmarks import decoding_task
from benchmarks.decoding_task import START

DROPOUT = 0.1
LEARNING_RATE = 1e-4
BASE = {
    "vocabulary_size": 32000,
    "num_layers": 6,
    "hidden_dim": 512,
    "num_heads": 8,
    "intermediate_dim": 2048,
}
MODELS = {**decoding_task.SIZES, "B": BASE}
# Rows and tokens of a batch, and steps of one measurement.
BATCHES = {"T": (64, 32, 10), "S": (16, 128, 6), "B": (16, 128, 2), "tiny": (8, 16, 20)}
# What `--grow` changes: an option of the model, or an attribute of the task.
QUANTITIES = {
    "length": "length",
    "width": "hidden_dim",
    "depth": "num_layers",
    "vocabulary": "vocabulary_size",
    "batch": "rows",
}


@dataclass(frozen=True)
class TrainingTask:
    """A model to train, and the batches to do it with.

    Attributes:
        model: sizes by the names of `Transformer`'s arguments.
        rows: sentence pairs of a batch.
        length: tokens of each source and of each target.
        steps: batches of one measurement.
    """

    model: dict
    rows: int
    length: int
    steps: int

    @property
    def tokens(self):
        """Source and target tokens of one step."""
        return 2 * self.rows * self.length

    def batches(self):
        """Return random ids without padding, the same every time.

        Returns:
            `(inputs, labels)`: the model's two inputs by name, and the targets one
            token on, each int32 (steps, rows, length).
        """
        rng = np.random.default_rng(1)
        shape = (2, self.steps, self.rows, self.length + 1)
        vocabulary_size = self.model["vocabulary_size"]
        ids = rng.integers(START + 1, vocabulary_size, shape, dtype="int32")
        source, target = ids
        target[..., 0] = START
        inputs = {"source_ids": source[..., 1:], "target_ids": target[..., :-1]}
        return inputs, target[..., 1:]

    def operations(self):
        """Return the floating-point operations of one step, in its matrix products.

        A product of (n, a) by (a, b) takes 2nab. With d the width, f the width inside
        the feed-forward networks, L the tokens of a sentence, V the vocabulary and N
        the blocks of each stack, the forward pass takes for each token

        ```
        source: N (8 d^2 + 4Ld + 4df)                    the encoder
                + N (4 d^2)                              keys and values of the memory
        target: N (8 d^2 + 4Ld + 4 d^2 + 4Ld + 4df)      the decoder
                + 2dV                                    logits
        ```

        8 d^2 are the projections to queries, keys, values and the output; 4Ld the
        products of queries with keys and of scores with values, what a causal mask
        hides included; 4df the feed-forward network. Of cross-attention, queries and
        output are the target's. The backward pass has two products, one for each
        factor's gradient, for each one of the forward pass: three times as much in all.
        """
        d, f = self.model["hidden_dim"], self.model["intermediate_dim"]
        projection, attention = 2 * d * d, 4 * self.length * d
        feed_forward, logits = 4 * d * f, 2 * d * self.model["vocabulary_size"]
        encoder = 4 * projection + attention + feed_forward
        memory = 2 * projection
        decoder = 6 * projection + 2 * attention + feed_forward
        pair = self.model["num_layers"] * (encoder + memory + decoder) + logits
        return 3 * self.rows * self.length * pair


def training_task(size, steps=None, changes=None):
    """Make the task of a size.

    Args:
        size: a key of `MODELS`.
        steps: batches of one measurement, if not as many as usual.
        changes: values by names from `QUANTITIES`, in place of the size's own.
    """
    rows, length, usual_steps = BATCHES[size]
    values = {**MODELS[size], "rows": rows, "length": length}
    for quantity, value in (changes or {}).items():
        values[QUANTITIES[quantity]] = value
    model = {name: values[name] for name in MODELS[size]}
    return TrainingTask(model, values["rows"], values["length"], steps or usual_steps)
