"""Sinusoidal positions."""

import keras
import numpy as np
from keras import ops

from keras_transformer.argument_checks import check_number, check_positive_number
from keras_transformer.layers.row_positions import check_row_positions, row_positions
from keras_transformer.layers.sequence_shape import (
    check_floating,
    check_sequence_shape,
)


@keras.saving.register_keras_serializable(package="keras_transformer")
class PositionalEncoding(keras.layers.Layer):
    """Add sines and cosines of the position to the input.

    ```
    PE(pos, 2i)     = sin(pos / 10000^(2i / d_model))
    PE(pos, 2i + 1) = cos(pos / 10000^(2i / d_model))
    ```

    Sine and cosine alternate along the width, as in the paper. The encoding has no
    weights and no longest length. It is computed in float32 and rounded once, to the
    layer's compute dtype.

    Args:
        max_wavelength: the base of the wavelengths, 10000 in the paper.
        scale: factor of the encoding before it is added.

    Raises:
        ValueError: if `max_wavelength` is not above 0, or `scale` is no number; for
            inputs that are not (batch, length, width), or are integers.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import PositionalEncoding
        >>> encoded = PositionalEncoding()(np.zeros((1, 2, 4), "float32"))
        >>> print(np.round(encoded[0], 3))
        [[0.    1.    0.    1.   ]
         [0.841 0.54  0.01  1.   ]]

    Reference: Vaswani et al., 2017, "Attention Is All You Need", section 3.5.
    """

    def __init__(self, *, max_wavelength=10000.0, scale=1.0, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.max_wavelength = check_positive_number("max_wavelength", max_wavelength)
        self.scale = check_number("scale", scale)

    def build(self, inputs_shape):
        """Check the shape; there are no weights."""
        check_sequence_shape(inputs_shape)

    def call(self, inputs, start_index=0, positions=None):
        """Add the encoding.

        Args:
            inputs: (batch, length, width).
            start_index: position of the first row, an integer or scalar tensor.
            positions: int32 (batch, length), the position of each row instead, for
                sequences packed one behind another or padded on the left.

        Returns:
            A tensor of the inputs' shape, in the compute dtype.
        """
        check_floating(inputs)
        position = row_positions(inputs, start_index, positions)
        encoding = self._encode(position, inputs.shape[-1])
        return inputs + ops.cast(encoding, inputs.dtype)

    def encode(self, length, width, start_index=0):
        """Compute the encoding itself, (length, width) in float32."""
        return self._encode(ops.arange(length, dtype="int32") + start_index, width)

    def _encode(self, position, width):
        return self.scale * sinusoids(position, width, self.max_wavelength)

    def compute_output_shape(self, inputs_shape):
        """Shape of the inputs."""
        return inputs_shape

    def compute_output_spec(self, inputs, start_index=0, positions=None):
        """Symbolic output, of the inputs' shape."""
        check_row_positions(inputs, start_index, positions)
        return keras.KerasTensor(inputs.shape, dtype=self.compute_dtype)

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "max_wavelength": self.max_wavelength,
            "scale": self.scale,
        }


def sinusoids(position, width, max_wavelength=10000.0):
    """Compute sines and cosines in turn, in float32.

    Args:
        position: integers (...).
        width: number of values for each position.
        max_wavelength: the base of the wavelengths.

    Returns:
        float32 (..., width).
    """
    pair = np.arange(width) // 2
    rates = ops.convert_to_tensor(max_wavelength ** (-2.0 * pair / width), "float32")
    angles = ops.cast(position, "float32")[..., None] * rates  # (..., width)
    even = np.arange(width) % 2 == 0
    return ops.where(even, ops.sin(angles), ops.cos(angles))
