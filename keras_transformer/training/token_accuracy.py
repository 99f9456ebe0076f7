"""Accuracy over real tokens."""

import keras
from keras import ops

from keras_transformer.training.token_losses import real_tokens
from keras_transformer.training.token_mean import TokenMean


@keras.saving.register_keras_serializable(package="keras_transformer")
class TokenAccuracy(TokenMean):
    """Share of real tokens whose label has the highest logit.

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
        best = ops.argmax(logits, axis=-1)
        hit = ops.logical_and(
            ops.equal(ops.cast(best, labels.dtype), labels),
            real_tokens(labels, self.pad_id),
        )
        return ops.cast(hit, "float32")
