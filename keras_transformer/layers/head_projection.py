"""Linear maps between model width and attention heads."""

import math
from contextlib import contextmanager
from contextvars import ContextVar

import keras
from keras import ops

from keras_transformer.layers.sequence_shape import target_shape

_held: ContextVar[dict | None] = ContextVar("held_kernels", default=None)


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
        kernel = (_held.get() or {}).get(id(self))
        kernel = self.flat_kernel() if kernel is None else kernel
        x = ops.reshape(inputs, (-1, kernel.shape[0]))  # (batch * length, rows)
        x = ops.matmul(x, kernel)
        if self.bias is not None:
            x = ops.add(x, ops.reshape(self.bias, (-1,)))
        if self.activation is not None:
            x = self.activation(x)
        batch, length = target_shape(inputs)[:2]
        return ops.reshape(x, (batch, length, *self.kernel.shape[self._summed :]))

    def quantize(self, mode=None, type_check=True, config=None):
        """Quantize the kernel as `EinsumDense` does, which then computes the product.

        Args:
            mode: mode of the quantization, `"int8"`.
            type_check: not used; Keras means it for subclasses without such a method.
            config: configuration of the quantization, for Keras.
        """
        super().quantize(mode, type_check=False, config=config)

    def flat_kernel(self):
        """Return the kernel as a matrix (rows, columns) in the compute dtype."""
        rows = math.prod(self.kernel.shape[: self._summed])
        kernel = ops.cast(self.kernel, self.compute_dtype)
        return ops.reshape(kernel, (rows, -1))

    @property
    def _summed(self):
        """Number of the kernel's axes over which the product sums."""
        return len(self.equation.split(",")[0]) - 2


def flat_kernels(projections):
    """Return the kernels of a list of `HeadProjection` as matrices."""
    return [projection.flat_kernel() for projection in projections]


@contextmanager
def held_kernels(projections, kernels):
    """Let projections use matrices that `flat_kernels` made before a loop.

    XLA makes one plain loop of a product of one row and the reshaping of its kernel,
    if they stand beside each other: a step of one sentence takes nearly three times
    as long.

    Args:
        projections: a list of `HeadProjection`.
        kernels: their matrices; `None` to let each make its own in the loop.
    """
    if kernels is None:
        yield
        return
    ids = map(id, projections)
    token = _held.set(dict(zip(ids, kernels, strict=True)))
    try:
        yield
    finally:
        _held.reset(token)
