"""Log-probabilities of given targets."""

import keras
from keras import ops


class SequenceScorer(keras.Model):
    """Score given targets of a batch of sources.

    Args:
        model: a model of `source_ids` and `target_ids`, like `Transformer`.
    """

    def __init__(self, model, **kwargs):
        super().__init__(**kwargs)
        self.model = model

    def call(self, inputs):
        """Sum the log-probabilities of the labels.

        Args:
            inputs: `{"source_ids": (batch, source), "target_ids": (batch, target),
                "labels": (batch, target)}`, int32. Labels are the targets one
                position on, with the end.

        Returns:
            `{"log_probs": (batch,), "lengths": (batch,)}`, float32 and int32; the
            length is the number of labels that are not padding.
        """
        labels = inputs["labels"]
        logits = self.model(
            {"source_ids": inputs["source_ids"], "target_ids": inputs["target_ids"]}
        )
        log_probs = ops.log_softmax(ops.cast(logits, "float32"), axis=-1)
        log_probs = ops.take_along_axis(log_probs, labels[..., None], axis=-1)[..., 0]
        real = ops.not_equal(labels, self.model.pad_id)
        return {
            "log_probs": ops.sum(ops.where(real, log_probs, 0.0), axis=-1),
            "lengths": ops.sum(ops.cast(real, "int32"), axis=-1),
        }
