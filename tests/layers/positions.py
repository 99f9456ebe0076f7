"""Positions inside attention, as small as a user would write them."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="tests")
class Rotation(keras.layers.Layer):
    """Turn neighbouring pairs of a head by an angle that grows with the position."""

    def __init__(self, angle=0.3, **kwargs):
        super().__init__(**kwargs)
        self.angle = angle

    def rotate(self, x, offset):
        """Turn (batch, length, heads, head_dim)."""
        position = ops.cast(
            ops.arange(ops.shape(x)[1], dtype="int32") + offset, x.dtype
        )
        angle = (self.angle * position)[:, None, None]
        even, odd = x[..., 0::2], x[..., 1::2]
        turned = [
            even * ops.cos(angle) - odd * ops.sin(angle),
            even * ops.sin(angle) + odd * ops.cos(angle),
        ]
        return ops.concatenate(turned, axis=-1)

    def get_config(self):
        return {**super().get_config(), "angle": self.angle}


@keras.saving.register_keras_serializable(package="tests")
class Distance(keras.layers.Layer):
    """Lower a score by the distance of query and key, as ALiBi does."""

    def __init__(self, slope=0.5, **kwargs):
        super().__init__(**kwargs)
        self.slope = slope

    def bias(self, query_length, key_length, offset):
        """Compute (1, 1, query, key)."""
        query = ops.arange(query_length, dtype="int32") + offset
        distance = ops.abs(query[:, None] - ops.arange(key_length, dtype="int32"))
        return -self.slope * ops.cast(distance, "float32")[None, None]

    def get_config(self):
        return {**super().get_config(), "slope": self.slope}


@keras.saving.register_keras_serializable(package="tests")
class Ramp(keras.layers.Layer):
    """An input position: add the position, times a number, to the embeddings."""

    def __init__(self, step=0.1, **kwargs):
        super().__init__(**kwargs)
        self.step = step

    def call(self, inputs, start_index=0):
        position = ops.arange(ops.shape(inputs)[1], dtype="int32") + start_index
        return inputs + self.step * ops.cast(position, inputs.dtype)[:, None]

    def get_config(self):
        return {**super().get_config(), "step": self.step}


def turned(x, angle=0.3):
    """What `Rotation` does, in NumPy."""
    angle = (angle * np.arange(x.shape[1]))[:, None, None]
    even, odd = x[..., 0::2], x[..., 1::2]
    return np.concatenate(
        [
            even * np.cos(angle) - odd * np.sin(angle),
            even * np.sin(angle) + odd * np.cos(angle),
        ],
        axis=-1,
    )
