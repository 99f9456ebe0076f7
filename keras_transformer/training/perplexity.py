"""Perplexity over real tokens."""

import keras
from keras import ops

from keras_transformer.training.token_losses import token_losses
from keras_transformer.training.token_mean import TokenMean


@keras.saving.register_keras_serializable(package="keras_transformer")
class Perplexity(TokenMean):
    """Exponential of the mean cross-entropy of real tokens, without smoothing.

    Args:
        pad_id: label of padding, which does not count.
        name: name of the metric.
        **kwargs: `dtype`, as for a Keras metric.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import Perplexity
        >>> metric = Perplexity()
        >>> metric.update_state(np.array([[1, 0]]), np.zeros((1, 2, 8), "float32"))
        >>> print(f"{float(metric.result()):.3f}")
        8.000
    """

    def __init__(self, *, pad_id=0, name="perplexity", **kwargs):
        super().__init__(pad_id=pad_id, name=name, **kwargs)

    def token_values(self, labels, logits):
        """Cross-entropy of each token, (batch, length)."""
        return token_losses(labels, logits, pad_id=self.pad_id)

    def result(self):
        """Return the perplexity of all tokens since the last reset, 1 of none."""
        return ops.exp(super().result())
