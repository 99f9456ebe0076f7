"""Residual connection and normalisation around a sublayer."""

import keras

from keras_transformer.argument_checks import (
    check_choice,
    check_positive_number,
    check_rate,
)
from keras_transformer.layers.byte_dropout import ByteDropout
from keras_transformer.layers.initialization import seed_for
from keras_transformer.layers.layer_normalization import LayerNormalization
from keras_transformer.layers.stochastic_depth import StochasticDepth

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

    With stochastic depth, in training some samples of a batch skip the sublayer: y = x,
    or y = Norm(x) in post-norm. For the others its output is scaled up by 1 / (1 - p),
    see `StochasticDepth`.

    Args:
        dropout: share of the sublayer's output dropped in training, in [0, 1).
        stochastic_depth: probability p that a sample skips the sublayer in training, in
            [0, 1).
        normalize_first: whether to normalise the sublayer's input (pre-norm).
        normalization: `"layer"` or `"rms"`.
        epsilon: added to the variance.
        seed: seed of the dropout and of the stochastic depth.
    """

    def __init__(
        self,
        *,
        dropout=0.0,
        stochastic_depth=0.0,
        normalize_first=False,
        normalization="layer",
        epsilon=1e-5,
        seed=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.dropout = check_rate("dropout", dropout)
        self.stochastic_depth = check_rate("stochastic_depth", stochastic_depth)
        self.normalize_first = normalize_first
        self.normalization = check_choice(
            "normalization", normalization, NORMALIZATIONS
        )
        self.epsilon = check_positive_number("epsilon", epsilon)
        self.seed = seed
        self.norm = NORMALIZATIONS[normalization](
            epsilon=epsilon, dtype=self.dtype_policy, name="norm"
        )
        self.dropout_layer = ByteDropout(
            dropout, seed=seed, dtype=self.dtype_policy, name="dropout"
        )
        self.depth = StochasticDepth(
            stochastic_depth,
            seed=seed_for(seed, "stochastic_depth"),
            dtype=self.dtype_policy,
            name="stochastic_depth",
        )

    def build(self, inputs_shape):
        """Create the normalisation's weights."""
        self.norm.build(inputs_shape)
        self.depth.build(inputs_shape)  # Keras quantizes no model with unbuilt layers

    def enter(self, inputs):
        """Return the sublayer's input."""
        return self.norm(inputs) if self.normalize_first else inputs

    def call(self, inputs, update, training=None):
        """Add the sublayer's output `update` to `inputs`."""
        update = self.dropout_layer(update, training=training)
        x = inputs + self.depth(update, training=training)
        return x if self.normalize_first else self.norm(x)

    def compute_output_shape(self, inputs_shape, update_shape=None):
        """Shape of the inputs."""
        return inputs_shape

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "dropout": self.dropout,
            "stochastic_depth": self.stochastic_depth,
            "normalize_first": self.normalize_first,
            "normalization": self.normalization,
            "epsilon": self.epsilon,
            "seed": self.seed,
        }
