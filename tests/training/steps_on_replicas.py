"""Trains on one device and on two replicas, and prints how the weights differ.

A script of its own: TensorFlow splits its CPU in two only before anything has run.
"""

import json
import sys
import tempfile

import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0],
    [tf.config.LogicalDeviceConfiguration()] * 2,
)

import keras  # noqa: E402

from keras_transformer import (  # noqa: E402
    CheckpointAveraging,
    RDrop,
    SmoothedCrossEntropy,
    TokenAccuracy,
    TrainingBackup,
    Transformer,
    TranslationData,
)

# Lengths of the targets and rows of a batch, whose first half goes to one replica.
CASES = {
    "uneven padding": ([7, 7, 6, 1, 1, 2], 6),
    "odd last batch": ([7, 1, 6, 1, 2, 3, 7], 4),
    "last replica without rows": ([7, 1, 3], 2),
    "replica of padding": ([7, 6, 0, 0], 4),
    "padding alone": ([0, 0], 2),
}


def data(lengths):
    generator = np.random.default_rng(3)
    shape = len(lengths), max(*lengths, 1)
    real = np.arange(shape[1]) < np.array(lengths)[:, None]
    source, labels = (generator.integers(3, 20, shape) * real for _ in range(2))
    target = np.roll(labels, 1, axis=1)
    target[:, 0] = 2
    inputs = {"source_ids": source, "target_ids": target * real}
    return {name: ids.astype("int32") for name, ids in inputs.items()}, labels


class TwoMinds(keras.Model):
    """Gives two kinds of logits in turn."""

    def __init__(self):
        super().__init__()
        self.tables = [keras.layers.Embedding(20, 20) for _ in range(2)]
        self.calls = 0

    def build(self, _):
        for table in self.tables:
            table.build(None)

    def call(self, inputs, training=None):
        self.calls += 1
        return self.tables[self.calls % 2](inputs["target_ids"])


def transformer(optimizer=None):
    model = Transformer(
        20, num_layers=1, hidden_dim=16, num_heads=2, intermediate_dim=32, dropout=0.0
    )
    model.compile(
        optimizer or keras.optimizers.SGD(0.1), SmoothedCrossEntropy(0.1),
        metrics=[TokenAccuracy()], jit_compile=False,
    )  # fmt: skip
    return model


def r_drop():
    model = RDrop(TwoMinds(), weight=100.0)
    model.compile(keras.optimizers.SGD(10.0), jit_compile=False)
    model(data([1])[0])
    return model


def trained(strategy, make, lengths, batch_size):
    """Train for one epoch, and return the weights before and after, and the logs."""
    with strategy.scope():
        keras.utils.set_random_seed(1)
        model = make()
    before = model.get_weights()
    inputs, labels = data(lengths)
    logs = model.fit(inputs, labels, batch_size=batch_size, shuffle=False, verbose=0)
    return before, model.get_weights(), logs.history


class Letters:
    """A tokenizer of letters."""

    def tokenize(self, texts):
        return [[3 + ord(letter) % 16 for letter in text] for text in texts]


def translation_data(rows_multiple_of):
    pairs = [("a", "bc"), ("defg", "h"), ("ij", "klmn")]
    return TranslationData(
        pairs,
        Letters(),
        tokens_per_batch=60,
        max_length=10,
        max_shapes=1,
        rows_multiple_of=rows_multiple_of,
        shuffle=False,
    )


def trained_on_stream(strategy, rows_multiple_of):
    """Train on batches of an odd number of sentences, and return weights and shapes."""
    with strategy.scope():
        keras.utils.set_random_seed(1)
        model = transformer()
    data = translation_data(rows_multiple_of)
    model.fit(data.train, shuffle=False, verbose=0)
    return model.get_weights(), data.shapes


def streamed(replicas):
    """Compare replicas that get filled batches with one device that gets others."""
    alone, odd = trained_on_stream(tf.distribute.get_strategy(), 1)
    together, even = trained_on_stream(replicas, 2)
    return {"difference": farthest(alone, together), "shapes": [odd, even]}


class Run:
    """Training with Adam, an average and a backup, from new objects.

    Args:
        strategy: of `tf.distribute`.
        folder: of the backup.
        seed: of the first weights.
    """

    def __init__(self, strategy, folder, seed):
        with strategy.scope():
            keras.utils.set_random_seed(seed)
            self.model = transformer(keras.optimizers.Adam(0.01))
        self.averaging = CheckpointAveraging(last=2)
        self.backup = TrainingBackup(folder, averaging=self.averaging)
        self.done = self.backup.restore(self.model)  # outside of the scope

    def train(self, epochs):
        inputs, labels = data([7, 1, 6, 2])
        self.model.fit(
            inputs, labels, batch_size=4, shuffle=False, verbose=0, epochs=epochs,
            initial_epoch=self.done, callbacks=[self.averaging, self.backup],
        )  # fmt: skip
        return self

    def state(self):
        """All values that a run has changed."""
        averages = self.averaging.get_state()
        return [
            *self.model.get_weights(),
            *(variable.numpy() for variable in self.model.optimizer.variables),
            *(np.asarray(averages[name]) for name in sorted(averages)),
        ]


def resumed(strategy):
    """Compare a run that goes on after its second epoch with an uninterrupted one."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        whole = Run(strategy, one, 1).train(4)
        Run(strategy, other, 1).train(2)
        new = Run(strategy, other, 99)
        moments = [v for v in new.model.optimizer.variables if "momentum" in v.path]
        new.train(4)
    return {
        "done": new.done,
        "moments": len(moments) == len(new.model.trainable_variables),
        "mirrored": all(len(v.value.values) == 2 for v in moments),
        "difference": farthest(whole.state(), new.state()),
        "iterations": [int(r.model.optimizer.iterations.numpy()) for r in (whole, new)],
    }


def farthest(these, those):
    """Return the largest difference, NaN where there is one."""
    pairs = zip(these, those, strict=True)
    return float(np.max([np.abs(one - other).max() for one, other in pairs]))


def main():
    replicas = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    results = {"backup": resumed(replicas), "stream": streamed(replicas)}
    cases = [(transformer, name, case) for name, case in CASES.items()]
    cases += [(r_drop, f"R-Drop, {name}", case) for name, case in CASES.items()]
    for make, name, case in cases:
        before, alone, logs = trained(tf.distribute.get_strategy(), make, *case)
        _, together, logs_together = trained(replicas, make, *case)
        results[name] = {
            "replicas": replicas.num_replicas_in_sync,
            "moved": farthest(before, alone),
            "difference": farthest(alone, together),
            "logs": [logs, logs_together],
        }
    sys.stdout.write(json.dumps(results) + "\n")


if __name__ == "__main__":
    main()
