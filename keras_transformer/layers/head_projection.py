"""Linear maps between model width and attention heads."""

import math

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_transformer")
class HeadProjection(keras.layers.EinsumDense):
    """`EinsumDense` between width and heads, computed as one 2-D matrix product.

    Kernel and bias have the shapes of Keras's own attention: (width, heads, head_dim)
    into heads, (heads, head_dim, width) out of them. On 3-D input an einsum's weight
    gradient is a batched product and a sum; flattened to two axes it is one product.

    Args:
        equation: `"abc,cde->abde"` into heads or `"abcd,cde->abe"` out of them.
        **kwargs: as for `keras.layers.EinsumDense`.
    """

    def __init__(self, equation, **kwargs):
        super().__init__(equation, **kwargs)
        self.supports_masking = True  # or Keras warns of masks that get lost here

    def call(self, inputs, training=None):
        """Project (batch, length, ...) to (batch, length, ...).

        Args:
            inputs: (batch, length, width), or (batch, length, heads, head_dim).
            training: not used; Keras passes it.
        """
        summed = len(inputs.shape) - 2
        rows = math.prod(self.kernel.shape[:summed])
        columns = self.kernel.shape[summed:]
        x = ops.reshape(inputs, (-1, rows))  # (batch * length, rows)
        x = ops.matmul(x, ops.reshape(self.kernel, (rows, math.prod(columns))))
        if self.bias is not None:
            x = x + ops.reshape(self.bias, (-1,))
        batch, length = ops.shape(inputs)[:2]
        return ops.reshape(x, (batch, length, *columns))
