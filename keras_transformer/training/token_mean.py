"""Means over real tokens."""

import keras
from keras import ops

from keras_transformer.training.reused_array import tensor_of
from keras_transformer.training.token_losses import (
    check_token_shapes,
    real_tokens,
    token_weights,
)


class TokenMean(keras.metrics.Metric):
    """Mean of a value of each real token, over all batches since the last reset.

    Args:
        pad_id: label of padding, which does not count.
        name: name of the metric.
        **kwargs: `dtype`, as for a Keras metric. Sums are float32 at least.
    """

    def __init__(self, *, pad_id=0, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.pad_id = pad_id
        # Halves would stop counting at some hundred tokens, whatever `floatx` is.
        dtype = "float64" if self.dtype == "float64" else "float32"
        self.total = self.add_variable(
            (), initializer="zeros", dtype=dtype, name="total"
        )
        self.number = self.add_variable(
            (), initializer="zeros", dtype=dtype, name="number"
        )

    def token_values(self, labels, logits):
        """Value of each token, float32 (batch, length), 0 at padding."""
        raise NotImplementedError

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Add a batch.

        Args:
            y_true: integer labels (batch, length).
            y_pred: logits (batch, length, vocabulary).
            sample_weight: weights (batch,) or (batch, length) of the tokens.
        """
        labels = ops.convert_to_tensor(y_true)
        logits = tensor_of(ops.convert_to_tensor(y_pred))
        check_token_shapes(labels, logits)
        values = self.token_values(labels, logits)
        weights = ops.cast(real_tokens(labels, self.pad_id), "float32")
        if sample_weight is not None:
            weights = weights * token_weights(labels, sample_weight)
        self.total.assign_add(ops.cast(ops.sum(values * weights), self.total.dtype))
        self.number.assign_add(ops.cast(ops.sum(weights), self.number.dtype))

    def result(self):
        """Return the mean, 0 of no tokens."""
        return ops.divide_no_nan(self.total, self.number)

    def get_config(self):
        """Return the constructor's arguments."""
        return {**super().get_config(), "pad_id": self.pad_id}
