"""Regularised dropout: two draws of dropout that have to agree."""

import keras
from keras import ops

from keras_transformer.argument_checks import check_positive_number
from keras_transformer.training.replicas import sum_over_replicas
from keras_transformer.training.token_losses import real_tokens


@keras.saving.register_keras_serializable(package="keras_transformer")
class RDrop(keras.Model):
    """Trains a model so that its predictions depend little on what dropout drops.

    Each batch passes through the model twice. With P and Q the two distributions of a
    token, this adds to the loss of P

    ```
    weight (KL(P || Q) + KL(Q || P)) / 4, the mean over real tokens
    ```

    Compile and fit it in place of the model, at twice the cost of a step; then go on
    with the model itself, whose weights these are. Outside training it is the model:
    the `val_loss` of `fit` is without the divergence, which its `loss` has. A
    `sample_weight` weighs the loss and not the divergence.

    Args:
        model: model with dropout, of inputs `{"source_ids", "target_ids"}` and logits
            (batch, target, vocabulary).
        weight: factor of the divergence, alpha in the paper, above 0.
        pad_id: id of padding in `target_ids`.
        name: name of the model.

    Raises:
        ValueError: for a weight that is not above 0.

    Reference: Liang et al., 2021, "R-Drop: Regularized Dropout for Neural Networks". It
    takes the loss of both passes and has twice these values.
    """

    def __init__(self, model, weight=5.0, *, pad_id=0, name=None, **kwargs):
        super().__init__(name=name, dtype=model.dtype_policy, **kwargs)
        self.model = model
        self.weight = check_positive_number("weight", weight)
        self.pad_id = pad_id

    def call(self, inputs, training=None):
        """Return the logits of the first pass, (batch, target, vocabulary)."""
        logits = self.model(inputs, training=training)
        if training:
            again = self.model(inputs, training=True)
            real = real_tokens(inputs["target_ids"], self.pad_id)
            self.add_loss(self.weight / 4 * mean_divergence(logits, again, real))
        return logits

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            "model": keras.saving.serialize_keras_object(self.model),
            "weight": self.weight,
            "pad_id": self.pad_id,
            "name": self.name,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """Make it from `get_config`'s result."""
        model = keras.saving.deserialize_keras_object(
            config["model"], custom_objects=custom_objects
        )
        return cls(**{**config, "model": model})


def mean_divergence(logits, others, real):
    """Mean of KL(P || Q) + KL(Q || P) over real tokens.

    That is the sum over k of (p_k - q_k) (s_k - t_k) with the logits s and t: the
    logarithms of the normalisers cancel, as p and q both add up to 1.

    Args:
        logits: (batch, length, vocabulary).
        others: (batch, length, vocabulary).
        real: boolean (batch, length), True where tokens count.

    Returns:
        A float32 scalar. On replicas the mean over these gives the mean over all.
    """
    scores, others = (
        ops.where(real[..., None], ops.cast(x, "float32"), 0.0)
        for x in (logits, others)
    )
    difference = ops.softmax(scores, axis=-1) - ops.softmax(others, axis=-1)
    total = ops.sum(difference * (scores - others))
    number = sum_over_replicas(ops.sum(ops.cast(real, "float32")))
    replicas = sum_over_replicas(ops.ones(()))
    return total * replicas / ops.maximum(number, 1.0)
