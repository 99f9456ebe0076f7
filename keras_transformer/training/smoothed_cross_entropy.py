"""Cross-entropy with label smoothing over real tokens."""

import keras
from keras import ops

from keras_transformer.argument_checks import check_rate
from keras_transformer.training.replicas import sum_over_replicas
from keras_transformer.training.token_losses import (
    real_tokens,
    token_losses,
    token_weights,
)


@keras.saving.register_keras_serializable(package="keras_transformer")
class SmoothedCrossEntropy(keras.losses.Loss):
    """Cross-entropy of token ids and logits, smoothed, divided by real tokens.

    ```
    q(k)  = (1 - epsilon) [k = label] + epsilon / V
    loss  = sum over real tokens of -sum_k q(k) log p(k), divided by their number
    ```

    Padding counts nowhere: neither in the sum, nor in the number, nor in a gradient,
    whatever stands in its logits. A batch of padding only has the loss 0. On replicas
    of `tf.distribute` the number is that of the whole batch, so that the gradients,
    which Keras adds up, are those of one device. To weigh tokens, give `fit` a
    `sample_weight`: its `class_weight` is not made for labels of sequences.

    What `fit` and `evaluate` report as `loss` is Keras's mean of the batches' losses,
    each weighed by its number of rows. `Perplexity` is the mean over all tokens.

    Args:
        label_smoothing: share epsilon of the probability that is spread over the whole
            vocabulary, in [0, 1).
        pad_id: label of padding.
        reduction: `"sum_over_batch_size"` divides the sum by the number of real
            tokens; `"sum"` does not; `None` or `"none"` gives (batch, length).
        name: name of the loss.
        dtype: dtype policy, as for a Keras loss. Losses are summed in float32.

    Raises:
        ValueError: for a rate outside [0, 1) or an unknown reduction.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import SmoothedCrossEntropy
        >>> labels, logits = np.array([[1, 0]]), np.log([[[0.1, 0.7, 0.2], [1, 1, 1]]])
        >>> print(f"{float(SmoothedCrossEntropy()(labels, logits)):.4f}")
        0.3567

    Reference: Szegedy et al., 2016, "Rethinking the Inception Architecture for
    Computer Vision", section 7.
    """

    def __init__(
        self,
        label_smoothing=0.0,
        *,
        pad_id=0,
        reduction="sum_over_batch_size",
        name="smoothed_cross_entropy",
        dtype=None,
    ):
        if reduction not in ("sum_over_batch_size", "sum", "none", None):
            raise ValueError(
                '`reduction` must be "sum_over_batch_size", "sum" or None. '
                f"Received: {reduction!r}."
            )
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        self.label_smoothing = check_rate("label_smoothing", label_smoothing)
        self.pad_id = pad_id

    def __call__(self, y_true, y_pred, sample_weight=None):
        """Compute the loss.

        Args:
            y_true: integer labels (batch, length).
            y_pred: logits (batch, length, vocabulary).
            sample_weight: weights (batch,) or (batch, length). They weigh the summands
                and leave the number of real tokens as it is.

        Returns:
            A float32 scalar, or (batch, length) without a reduction.
        """
        labels, logits = ops.convert_to_tensor(y_true), ops.convert_to_tensor(y_pred)
        losses = token_losses(labels, logits, self.label_smoothing, self.pad_id)
        if sample_weight is not None:
            weight = token_weights(labels, sample_weight)
            real = real_tokens(labels, self.pad_id)
            losses = ops.where(real, losses * weight, 0.0)
        if self.reduction in ("none", None):
            return losses
        total = ops.sum(losses)
        if self.reduction == "sum":
            return total
        number = ops.sum(ops.cast(real_tokens(labels, self.pad_id), "float32"))
        return total / ops.maximum(sum_over_replicas(number), 1.0)

    def call(self, y_true, y_pred):
        """Compute the loss of each token, (batch, length), 0 at padding."""
        return token_losses(
            ops.convert_to_tensor(y_true),
            ops.convert_to_tensor(y_pred),
            self.label_smoothing,
            self.pad_id,
        )

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            "label_smoothing": self.label_smoothing,
            "pad_id": self.pad_id,
            "reduction": self.reduction,
            "name": self.name,
            "dtype": keras.dtype_policies.serialize(self.dtype_policy)
            if hasattr(self, "dtype_policy")
            else self.dtype,
        }
