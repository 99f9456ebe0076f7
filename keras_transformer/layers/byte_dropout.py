"""Keras's dropout layer with cheaper random numbers."""

import keras

from keras_transformer.attention import byte_dropout


@keras.saving.register_keras_serializable(package="keras_transformer")
class ByteDropout(keras.layers.Dropout):
    """`keras.layers.Dropout` that draws a byte for each value, see `byte_dropout`.

    Args:
        rate: share of the values that is dropped in training, in [0, 1).
        seed: integer seed.
        **kwargs: as for `keras.layers.Dropout`.
    """

    def call(self, inputs, training=False):
        """Drop values if `training`; the shape is that of the inputs."""
        if not training or not self.rate:
            return inputs
        if self.noise_shape is not None:
            return super().call(inputs, training=training)
        return byte_dropout(inputs, self.rate, self.seed_generator)
