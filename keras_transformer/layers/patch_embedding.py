"""From images to sequences of patches."""

import keras
from keras import ops

from keras_transformer.argument_checks import check_positive_integer
from keras_transformer.layers.sequence_shape import check_floating


@keras.saving.register_keras_serializable(package="keras_transformer")
class PatchEmbedding(keras.layers.Layer):
    """Cut images into square patches, and map each to a vector.

    ```
    y[i] = flatten(patch_i) W + b
    ```

    Patches stand row by row, and the values of a patch in the order (row, column,
    channel). Images have their channels last.

    Args:
        patch_size: height and width of a patch, P.
        hidden_dim: width of a vector, d_model.
        flatten: whether the patches are one sequence; else they keep their grid.
        use_bias: whether a bias is added.
        kernel_initializer: initializer of W, (P * P * channels, hidden_dim).
        bias_initializer: initializer of b.

    Raises:
        ValueError: for sizes below 1; for inputs that are not (batch, height, width,
            channels) or are integers, and for heights and widths that the patches do
            not divide. Where a size is only known when a compiled function runs, that
            is an error of the backend.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import PatchEmbedding
        >>> images = np.zeros((2, 32, 48, 3), "float32")
        >>> tuple(PatchEmbedding(patch_size=16, hidden_dim=8)(images).shape)
        (2, 6, 8)

    Reference: Dosovitskiy et al., 2021, "An Image is Worth 16x16 Words", section 3.1.
    """

    def __init__(
        self,
        patch_size,
        hidden_dim,
        *,
        flatten=True,
        use_bias=True,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.patch_size = check_positive_integer("patch_size", patch_size)
        self.hidden_dim = check_positive_integer("hidden_dim", hidden_dim)
        self.flatten = flatten
        self.use_bias = use_bias
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)

    def build(self, inputs_shape):
        """Create the map."""
        check_image_shape(inputs_shape, self.patch_size)
        self.projection = keras.layers.Dense(
            self.hidden_dim,
            use_bias=self.use_bias,
            kernel_initializer=self.kernel_initializer,
            bias_initializer=self.bias_initializer,
            dtype=self.dtype_policy,
            name="projection",
        )
        self.projection.build((None, self.patch_size**2 * inputs_shape[-1]))

    def call(self, inputs):
        """Cut and map.

        Args:
            inputs: floating point (batch, height, width, channels).

        Returns:
            (batch, patches, hidden_dim); without `flatten` (batch, rows, columns,
            hidden_dim).
        """
        check_floating(inputs)
        check_image_shape(inputs.shape, self.patch_size)
        size, channels = self.patch_size, inputs.shape[-1]
        batch, height, width = ops.shape(inputs)[:3]
        rows, columns = height // size, width // size
        x = ops.reshape(inputs, (batch, rows, size, columns, size, channels))
        x = ops.transpose(x, (0, 1, 3, 2, 4, 5))
        x = self.projection(ops.reshape(x, (-1, size * size * channels)))
        grid = (rows * columns,) if self.flatten else (rows, columns)
        return ops.reshape(x, (batch, *grid, self.hidden_dim))

    def compute_output_spec(self, inputs):
        """Symbolic output, after the check of the shape."""
        check_floating(inputs)
        shape = self.compute_output_shape(inputs.shape)
        return keras.KerasTensor(shape, dtype=self.compute_dtype)

    def compute_output_shape(self, inputs_shape):
        """Replace height, width and channels by patches and their width."""
        check_image_shape(inputs_shape, self.patch_size)
        batch, height, width, _ = inputs_shape
        rows = None if height is None else height // self.patch_size
        columns = None if width is None else width // self.patch_size
        if not self.flatten:
            return batch, rows, columns, self.hidden_dim
        if rows is None or columns is None:
            return batch, None, self.hidden_dim
        return batch, rows * columns, self.hidden_dim

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "patch_size": self.patch_size,
            "hidden_dim": self.hidden_dim,
            "flatten": self.flatten,
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
        }


def check_image_shape(shape, patch_size):
    """Raise `ValueError` unless patches divide an image, where its size is known."""
    if len(shape) != 4 or shape[-1] is None:
        raise ValueError(
            "`inputs` must have shape (batch, height, width, channels) with known "
            f"channels. Received: shape {tuple(shape)}."
        )
    for name, size in (("height", shape[1]), ("width", shape[2])):
        if size is not None and (size == 0 or size % patch_size):
            raise ValueError(
                f"`patch_size` must divide the {name} of the images. Received: "
                f"patch_size={patch_size}, {name}={size}."
            )
