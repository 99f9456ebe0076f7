"""One block of a convolutional encoder."""

import math

import keras

from keras_transformer.argument_checks import check_positive_integer, check_rate
from keras_transformer.attention import real_positions
from keras_transformer.attention.masks import as_padding_mask
from keras_transformer.layers.gated_convolution import GatedConvolution
from keras_transformer.layers.sequence_shape import check_sequence_shape

HALF = math.sqrt(0.5)  # keeps the variance of a sum of two


@keras.saving.register_keras_serializable(package="keras_transformer")
class ConvolutionalEncoderBlock(keras.layers.Layer):
    """A gated convolution and a residual connection.

    ```
    y = sqrt(0.5) (x + GLU(x * W + b))
    ```

    Args:
        kernel_size: number of positions that the convolution sees, the position in
            their middle.
        dropout: share of the convolution's inputs dropped in training, in [0, 1).
        seed: seed of the dropout.

    Raises:
        ValueError: for a size below 1 or a rate outside [0, 1).

    Examples:
        >>> import numpy as np
        >>> from keras_transformer.layers import ConvolutionalEncoderBlock
        >>> block = ConvolutionalEncoderBlock(kernel_size=3)
        >>> tuple(block(np.ones((2, 5, 8), "float32")).shape)
        (2, 5, 8)

    Reference: Gehring et al., 2017, "Convolutional Sequence to Sequence Learning",
    section 3.2.
    """

    def __init__(self, kernel_size, *, dropout=0.0, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.kernel_size = check_positive_integer("kernel_size", kernel_size)
        self.dropout = check_rate("dropout", dropout)
        self.seed = seed

    def build(self, inputs_shape):
        """Create the convolution for the width of the inputs."""
        check_sequence_shape(inputs_shape)
        self.convolution = GatedConvolution(
            inputs_shape[-1],
            self.kernel_size,
            dropout=self.dropout,
            seed=self.seed,
            dtype=self.dtype_policy,
            name="convolution",
        )
        self.convolution.build(inputs_shape)

    def call(self, inputs, padding_mask=None, mask=None, training=None):
        """Encode.

        Args:
            inputs: (batch, length, width).
            padding_mask: boolean (batch, length), True at real positions.
            mask: boolean (batch, length), the inputs' Keras mask; filled in by Keras.
            training: whether dropout is on.

        Returns:
            (batch, length, width). What stands at padded positions is not defined, and
            does not reach real ones.
        """
        real = real_positions(padding_mask, mask)
        update = self.convolution(inputs, padding_mask=real, training=training)
        return (inputs + update) * HALF

    def compute_output_shape(self, inputs_shape):
        """Shape of the inputs."""
        return inputs_shape

    def compute_output_spec(self, inputs, **kwargs):
        """Symbolic output."""
        as_padding_mask(kwargs.get("padding_mask"), "padding_mask")
        return keras.KerasTensor(inputs.shape, dtype=self.compute_dtype)

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "kernel_size": self.kernel_size,
            "dropout": self.dropout,
            "seed": self.seed,
        }
