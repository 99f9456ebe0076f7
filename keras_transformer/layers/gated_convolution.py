"""A convolution over positions whose outputs are gated."""

import keras
from keras import ops

from keras_transformer.argument_checks import check_positive_integer, check_rate
from keras_transformer.attention import real_positions
from keras_transformer.attention.masks import as_padding_mask
from keras_transformer.layers.byte_dropout import ByteDropout
from keras_transformer.layers.sequence_shape import check_sequence_shape


@keras.saving.register_keras_serializable(package="keras_transformer")
class GatedConvolution(keras.layers.Layer):
    """Convolve over neighbouring positions, and gate what comes out (GLU).

    ```
    [A; B] = x * W + b
    y      = A sigmoid(B)
    ```

    The sequence keeps its length. Padding and what lies outside are zeros.

    Args:
        filters: width of the output; the convolution has twice as many.
        kernel_size: number of positions that an output sees.
        causal: whether these are the position itself and those before it; else it
            stands in their middle.
        dropout: share of the inputs dropped in training, in [0, 1).
        use_bias: whether to add a bias.
        kernel_initializer: initializer of the kernel (kernel_size, width, 2 filters);
            if not given, normal numbers of variance `4 (1 - dropout) / n` with
            `n = kernel_size width`, which keep the variance of the inputs.
        bias_initializer: initializer of the bias.
        seed: seed of the dropout.

    Raises:
        ValueError: for a size below 1 or a rate outside [0, 1).

    Examples:
        >>> import numpy as np
        >>> from keras_transformer.layers import GatedConvolution
        >>> layer = GatedConvolution(filters=6, kernel_size=3, causal=True)
        >>> tuple(layer(np.ones((2, 5, 8), "float32")).shape)
        (2, 5, 6)

    Reference: Dauphin et al., 2017, "Language Modeling with Gated Convolutional
    Networks"; Gehring et al., 2017, "Convolutional Sequence to Sequence Learning".
    """

    def __init__(
        self,
        filters,
        kernel_size,
        *,
        causal=False,
        dropout=0.0,
        use_bias=True,
        kernel_initializer=None,
        bias_initializer="zeros",
        seed=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.filters = check_positive_integer("filters", filters)
        self.kernel_size = check_positive_integer("kernel_size", kernel_size)
        self.causal = causal
        self.dropout = check_rate("dropout", dropout)
        self.use_bias = use_bias
        self.kernel_initializer = keras.initializers.get(
            kernel_initializer
            or keras.initializers.VarianceScaling(
                4.0 * (1.0 - self.dropout), "fan_in", "untruncated_normal"
            )
        )
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.seed = seed

    def build(self, inputs_shape):
        """Create the kernel for the width of the inputs."""
        check_sequence_shape(inputs_shape)
        self.width = inputs_shape[-1]
        self.kernel = self.add_weight(
            name="kernel",
            shape=(self.kernel_size, self.width, 2 * self.filters),
            initializer=self.kernel_initializer,
        )
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                name="bias",
                shape=(2 * self.filters,),
                initializer=self.bias_initializer,
            )
        self.dropout_layer = ByteDropout(
            self.dropout, seed=self.seed, dtype=self.dtype_policy, name="dropout"
        )

    def call(self, inputs, padding_mask=None, mask=None, training=None):
        """Convolve whole sequences.

        Args:
            inputs: (batch, length, width).
            padding_mask: boolean (batch, length), True at real positions.
            mask: boolean (batch, length), the inputs' Keras mask; filled in by Keras.
            training: whether dropout is on.

        Returns:
            (batch, length, filters). What stands at padded positions is not defined.
        """
        x = self.dropout_layer(inputs, training=training)
        real = real_positions(padding_mask, mask)
        if real is not None:
            x = ops.where(real[..., None], x, ops.zeros_like(x))
        outside = self.kernel_size - 1
        before = outside if self.causal else outside // 2
        x = ops.pad(x, ((0, 0), (before, outside - before), (0, 0)))
        # Each position beside its neighbours: one matrix product for all of them.
        beside = [x[:, i : i - outside or None] for i in range(self.kernel_size)]
        return self._gated(ops.concatenate(beside, axis=-1))

    def start(self, rows):
        """Make the window of a causal convolution that has seen nothing yet.

        Args:
            rows: number of sequences.

        Returns:
            (rows, kernel_size - 1, width), zeros.
        """
        return ops.zeros((rows, self.kernel_size - 1, self.width), self.compute_dtype)

    def step(self, x, window):
        """Convolve the next position, of a causal convolution.

        Args:
            x: (rows, 1, width).
            window: the inputs before it, from `start` or the step before.

        Returns:
            (rows, 1, filters), and the new window.
        """
        window = ops.concatenate([window, ops.cast(x, self.compute_dtype)], axis=1)
        beside = ops.reshape(window, (-1, 1, self.kernel_size * self.width))
        return self._gated(beside), window[:, 1:]

    def _gated(self, beside):
        """Map (batch, length, kernel_size * width) to (batch, length, filters)."""
        kernel = ops.reshape(
            ops.cast(self.kernel, self.compute_dtype), (-1, 2 * self.filters)
        )
        x = ops.matmul(beside, kernel)
        if self.bias is not None:
            x = x + ops.cast(self.bias, self.compute_dtype)
        return x[..., : self.filters] * ops.sigmoid(x[..., self.filters :])

    def compute_output_shape(self, inputs_shape):
        """Shape of the inputs, with the width `filters`."""
        return (*inputs_shape[:-1], self.filters)

    def compute_output_spec(self, inputs, **kwargs):
        """Symbolic output."""
        as_padding_mask(kwargs.get("padding_mask"), "padding_mask")
        shape = self.compute_output_shape(inputs.shape)
        return keras.KerasTensor(shape, dtype=self.compute_dtype)

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "filters": self.filters,
            "kernel_size": self.kernel_size,
            "causal": self.causal,
            "dropout": self.dropout,
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "seed": self.seed,
        }
