"""A trained vector at the head of a sequence."""

import keras
from keras import ops

from keras_transformer.layers.sequence_shape import (
    check_floating,
    check_sequence_shape,
)


@keras.saving.register_keras_serializable(package="keras_transformer")
class ClassToken(keras.layers.Layer):
    """Put one trained vector before each sequence.

    ```
    y = Concat([c], x)
    ```

    Self-attention gathers in it what the whole sequence says.

    Args:
        initializer: initializer of the vector.

    Raises:
        ValueError: for inputs that are not (batch, length, width), or are integers.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import ClassToken
        >>> tuple(ClassToken()(np.zeros((2, 5, 8), "float32")).shape)
        (2, 6, 8)

    Reference: Dosovitskiy et al., 2021, "An Image is Worth 16x16 Words", section 3.1.
    """

    def __init__(self, *, initializer="zeros", **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.initializer = keras.initializers.get(initializer)

    def build(self, inputs_shape):
        """Create the vector (width,)."""
        check_sequence_shape(inputs_shape)
        self.token = self.add_weight(
            name="token", shape=(inputs_shape[-1],), initializer=self.initializer
        )

    def call(self, inputs):
        """Prepend the vector.

        Args:
            inputs: (batch, length, width).

        Returns:
            (batch, 1 + length, width).
        """
        check_floating(inputs)
        batch, _, width = ops.shape(inputs)
        token = ops.cast(self.token, inputs.dtype)
        token = ops.broadcast_to(token, (batch, 1, width))
        return ops.concatenate([token, inputs], axis=1)

    def compute_mask(self, inputs, mask=None):
        """Pass the Keras mask on; the vector is real."""
        if mask is None:
            return None
        real = ops.ones_like(mask[:, :1])
        return ops.concatenate([real, mask], axis=1)

    def compute_output_spec(self, inputs):
        """Symbolic output, one position longer."""
        check_floating(inputs)
        shape = self.compute_output_shape(inputs.shape)
        return keras.KerasTensor(shape, dtype=self.compute_dtype)

    def compute_output_shape(self, inputs_shape):
        """Shape of the inputs, one position longer."""
        batch, length, width = inputs_shape
        return batch, None if length is None else length + 1, width

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "initializer": keras.initializers.serialize(self.initializer),
        }
