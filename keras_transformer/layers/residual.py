"""Residual connection and normalisation around a sublayer."""

import keras

from keras_transformer.argument_checks import (
    check_choice,
    check_positive_number,
    check_rate,
)
from keras_transformer.layers.byte_dropout import ByteDropout
from keras_transformer.layers.layer_normalization import LayerNormalization

NORMALIZATIONS = {
    "layer": LayerNormalization,
    "rms": keras.layers.RMSNormalization,
}


@keras.saving.register_keras_serializable(package="keras_transformer")
class Residual(keras.layers.Layer):
    """The path around a sublayer, in the paper's order or normalised first.

    ```
    post-norm:  y = Norm(x + Dropout(Sublayer(x)))
    pre-norm:   y = x + Dropout(Sublayer(Norm(x)))
    ```

    Use: `y = residual(x, sublayer(residual.enter(x)))`.

    Args:
        dropout: share of the sublayer's output dropped in training, in [0, 1).
        normalize_first: whether to normalise the sublayer's input (pre-norm).
        normalization: `"layer"` or `"rms"`.
        epsilon: added to the variance.
        seed: seed of the dropout.
    """

    def __init__(
        self,
        *,
        dropout=0.0,
        normalize_first=False,
        normalization="layer",
        epsilon=1e-5,
        seed=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.dropout = check_rate("dropout", dropout)
        self.normalize_first = normalize_first
        self.normalization = check_choice(
            "normalization", normalization, NORMALIZATIONS
        )
        self.epsilon = check_positive_number("layer_norm_epsilon", epsilon)
        self.seed = seed
        self.norm = NORMALIZATIONS[normalization](
            epsilon=epsilon, dtype=self.dtype_policy, name="norm"
        )
        self.dropout_layer = ByteDropout(
            dropout, seed=seed, dtype=self.dtype_policy, name="dropout"
        )

    def build(self, inputs_shape):
        """Create the normalisation's weights."""
        self.norm.build(inputs_shape)

    def enter(self, inputs):
        """Return the sublayer's input."""
        return self.norm(inputs) if self.normalize_first else inputs

    def call(self, inputs, update, training=None):
        """Add the sublayer's output `update` to `inputs`."""
        x = inputs + self.dropout_layer(update, training=training)
        return x if self.normalize_first else self.norm(x)

    def compute_output_shape(self, inputs_shape, update_shape=None):
        """Shape of the inputs."""
        return inputs_shape

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "dropout": self.dropout,
            "normalize_first": self.normalize_first,
            "normalization": self.normalization,
            "epsilon": self.epsilon,
            "seed": self.seed,
        }
