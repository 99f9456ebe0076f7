"""A bias by itself."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_transformer")
class Bias(keras.layers.Layer):
    """Add a trained vector to the last axis, for logits of a tied table.

    Args:
        initializer: initializer of the vector.
    """

    def __init__(self, *, initializer="zeros", **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.initializer = keras.initializers.get(initializer)

    def build(self, inputs_shape):
        """Create the vector of the last axis's size."""
        self.bias = self.add_weight(
            name="bias", shape=(inputs_shape[-1],), initializer=self.initializer
        )

    def call(self, inputs):
        """Add the vector to (..., width)."""
        return inputs + ops.cast(self.bias, inputs.dtype)

    def compute_output_shape(self, inputs_shape):
        """Shape of the inputs."""
        return inputs_shape

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "initializer": keras.initializers.serialize(self.initializer),
        }
