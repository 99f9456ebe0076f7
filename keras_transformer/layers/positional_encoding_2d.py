"""Sinusoidal positions on a grid."""

import keras
from keras import ops

from keras_transformer.argument_checks import check_number, check_positive_number
from keras_transformer.layers.positional_encoding import sinusoids
from keras_transformer.layers.sequence_shape import check_floating


@keras.saving.register_keras_serializable(package="keras_transformer")
class PositionalEncoding2D(keras.layers.Layer):
    """Add sines and cosines of row and column to the input.

    ```
    PE(row, column) = Concat(sinusoids(row), sinusoids(column))
    ```

    Each half has the sinusoids of `PositionalEncoding` for half of the width: the
    first those of the row, the second those of the column. The encoding has no weights
    and no largest grid. It is computed in float32 and rounded once.

    The input keeps its grid, as `PatchEmbedding(flatten=False)` does: a sequence of
    patches does not tell how many stand in a row.

    Args:
        max_wavelength: the base of the wavelengths.
        scale: factor of the encoding before it is added.

    Raises:
        ValueError: if `max_wavelength` is not above 0, or `scale` is no number; for
            inputs that are not (batch, rows, columns, width), of an odd width, or
            integers.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import PositionalEncoding2D
        >>> encoded = PositionalEncoding2D()(np.zeros((1, 2, 2, 4), "float32"))
        >>> print(np.round(encoded[0, 1], 3))
        [[0.841 0.54  0.    1.   ]
         [0.841 0.54  0.841 0.54 ]]

    Reference: Parmar et al., 2018, "Image Transformer", section 3.1.
    """

    def __init__(self, *, max_wavelength=10000.0, scale=1.0, **kwargs):
        super().__init__(**kwargs)
        self.max_wavelength = check_positive_number("max_wavelength", max_wavelength)
        self.scale = check_number("scale", scale)

    def build(self, inputs_shape):
        """Check the shape; there are no weights."""
        if len(inputs_shape) != 4 or inputs_shape[-1] is None or inputs_shape[-1] % 2:
            raise ValueError(
                "`inputs` must have shape (batch, rows, columns, width) with an even "
                f"width. Received: shape {tuple(inputs_shape)}."
            )

    def call(self, inputs):
        """Add the encoding.

        Args:
            inputs: (batch, rows, columns, width).

        Returns:
            A tensor of the inputs' shape, in the compute dtype.
        """
        check_floating(inputs)
        _, rows, columns, width = ops.shape(inputs)
        encoding = self.encode(rows, columns, width)
        return inputs + ops.cast(encoding, inputs.dtype)

    def encode(self, rows, columns, width):
        """Compute the encoding itself, (rows, columns, width) in float32."""
        shape = rows, columns, width // 2
        row, column = (
            sinusoids(ops.arange(size, dtype="int32"), width // 2, self.max_wavelength)
            for size in (rows, columns)
        )
        row, column = row[:, None], column[None]
        halves = [ops.broadcast_to(half, shape) for half in (row, column)]
        return self.scale * ops.concatenate(halves, axis=-1)

    def compute_output_spec(self, inputs):
        """Symbolic output of the inputs' shape."""
        return keras.KerasTensor(inputs.shape, dtype=self.compute_dtype)

    def compute_output_shape(self, inputs_shape):
        """Shape of the inputs."""
        return inputs_shape

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "max_wavelength": self.max_wavelength,
            "scale": self.scale,
        }
