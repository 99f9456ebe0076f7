"""The position-wise feed-forward network."""

import keras
from keras import ops

from keras_transformer.argument_checks import check_positive_integer, check_rate
from keras_transformer.layers.byte_dropout import ByteDropout
from keras_transformer.layers.gated_activation import (
    activate,
    activation_config,
    as_activation,
    is_gated,
)
from keras_transformer.layers.initialization import initializer_for
from keras_transformer.layers.sequence_shape import check_sequence_shape, target_shape


@keras.saving.register_keras_serializable(package="keras_transformer")
class FeedForward(keras.layers.Layer):
    """Two linear maps with an activation between them, the same at each position.

    ```
    FFN(x) = max(0, x W_1 + b_1) W_2 + b_2
    ```

    With a gated activation a third map multiplies what the activation lets through:

    ```
    FFN(x) = (act(x W) * (x V)) W_2
    ```

    act is SiLU for `"swiglu"`, the exact GELU for `"geglu"`, ReLU for `"reglu"`. The
    kernel of `gate` is W, that of `intermediate` V, both (width, intermediate_dim), and
    that of `output_dense` W_2, (intermediate_dim, width). At two thirds of the
    `intermediate_dim` there are as many weights as without a gate.

    Args:
        intermediate_dim: width between the maps, d_ff.
        activation: the activation, ReLU in the paper; a gated one by its name.
        dropout: share of the intermediate units dropped in training, in [0, 1).
        use_bias: whether the maps add a bias.
        kernel_initializer: initializer of the kernels.
        bias_initializer: initializer of the biases.
        seed: seed of the dropout.

    Raises:
        ValueError: for a width below 1, a rate outside [0, 1) or an unknown activation.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import FeedForward
        >>> tuple(FeedForward(intermediate_dim=32)(np.ones((2, 5, 8), "float32")).shape)
        (2, 5, 8)

    Reference: Vaswani et al., 2017, "Attention Is All You Need", section 3.3; Shazeer,
    2020, "GLU Variants Improve Transformer".
    """

    def __init__(
        self,
        intermediate_dim,
        *,
        activation="relu",
        dropout=0.0,
        use_bias=True,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        seed=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.intermediate_dim = check_positive_integer(
            "intermediate_dim", intermediate_dim
        )
        self.activation = as_activation(activation)
        self.dropout = check_rate("dropout", dropout)
        self.use_bias = use_bias
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.seed = seed

    def build(self, inputs_shape):
        """Create the maps."""
        check_sequence_shape(inputs_shape)
        width = inputs_shape[-1]
        self.intermediate = self._linear(self.intermediate_dim, "intermediate")
        self.intermediate.build((None, width))
        if is_gated(self.activation):
            self.gate = self._linear(self.intermediate_dim, "gate")
            self.gate.build((None, width))
        self.dropout_layer = ByteDropout(
            self.dropout, seed=self.seed, dtype=self.dtype_policy, name="dropout"
        )
        self.output_dense = self._linear(width, "output")
        self.output_dense.build((None, self.intermediate_dim))

    def _linear(self, width, name):
        return keras.layers.Dense(
            width,
            use_bias=self.use_bias,
            kernel_initializer=initializer_for(self.kernel_initializer, name),
            bias_initializer=initializer_for(self.bias_initializer, name),
            dtype=self.dtype_policy,
            name=name,
        )

    def call(self, inputs, training=None):
        """Transform each position by itself.

        Args:
            inputs: (batch, length, width).
            training: whether dropout is on.

        Returns:
            (batch, length, width).
        """
        # Two axes: the weight gradients are then single matrix products.
        x = ops.reshape(inputs, (-1, inputs.shape[-1]))  # (batch * length, width)
        x = self.output_dense(self.dropout_layer(self._inner(x), training=training))
        return ops.reshape(x, target_shape(inputs))

    def _inner(self, x):
        """Intermediate units (batch * length, intermediate_dim)."""
        if is_gated(self.activation):
            return activate(self.activation, self.gate(x)) * self.intermediate(x)
        return activate(self.activation, self.intermediate(x))

    def compute_output_shape(self, inputs_shape):
        """Shape of the inputs."""
        return inputs_shape

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "intermediate_dim": self.intermediate_dim,
            "activation": activation_config(self.activation),
            "dropout": self.dropout,
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "seed": self.seed,
        }
