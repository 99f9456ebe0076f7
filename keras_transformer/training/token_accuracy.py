"""Accuracy over real tokens."""

import keras
from keras import ops

from keras_transformer.training.token_losses import known_labels, real_tokens
from keras_transformer.training.token_mean import TokenMean


@keras.saving.register_keras_serializable(package="keras_transformer")
class TokenAccuracy(TokenMean):
    """Share of real tokens whose label has the highest logit.

    A label that shares the highest logit with other ids counts too, as in Keras's
    top-k metrics; in half precision that happens.

    Args:
        pad_id: label of padding, which does not count.
        name: name of the metric.
        **kwargs: `dtype`, as for a Keras metric.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import TokenAccuracy
        >>> metric = TokenAccuracy()
        >>> metric.update_state(np.array([[1, 2, 0]]), np.eye(3)[None, [1, 1, 0]])
        >>> float(metric.result())
        0.5
    """

    def __init__(self, *, pad_id=0, name="token_accuracy", **kwargs):
        super().__init__(pad_id=pad_id, name=name, **kwargs)

    def token_values(self, labels, logits):
        """1 where the label has the highest logit, (batch, length)."""
        scores = ops.cast(logits, "float32")
        rows, known = known_labels(labels, ops.shape(logits)[-1])
        of_label = ops.take_along_axis(scores, rows, axis=-1)
        # the loss needs the maximum too, and an argmax takes several times as long
        largest = ops.max(scores, axis=-1, keepdims=True, initial=float("-inf"))
        hit = ops.equal(of_label, largest)[..., 0]
        counts = ops.logical_and(known, real_tokens(labels, self.pad_id))
        hit = ops.logical_and(hit, counts)
        return ops.cast(hit, "float32")
