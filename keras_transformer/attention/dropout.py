"""Dropout from random bytes."""

import math

import keras
from keras import ops


def byte_dropout(x, rate, seed):
    """Drop a share of the values, and scale the others up.

    A byte decides over each value, so that four of them share a random number: on a
    CPU, drawing these is most of what dropout costs. A byte tells 256 shares apart, so
    one more number chooses for the whole tensor between the two that are next to
    `rate`: each value is dropped with the probability `rate` exactly.

    Args:
        x: floating-point tensor.
        rate: share that is dropped, in [0, 1).
        seed: `keras.random.SeedGenerator` or integer.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    x = ops.convert_to_tensor(x)
    if not rate:
        return x
    if rate > 255 / 256:  # the upper share next to it is 1, too large for a byte
        return keras.random.dropout(x, rate, seed=seed)
    shape = ops.shape(x)
    size = math.prod(shape)
    numbers = keras.random.randint(
        ((size + 3) // 4 + 1,), -(2**31), 2**31 - 1, dtype="int32", seed=seed
    )
    bytes_ = ops.reshape(ops.view(numbers[1:, None], "uint8"), (-1,))
    bytes_ = ops.reshape(bytes_[:size], shape)
    part, whole = math.modf(256 * rate)
    extra = numbers[0] < int(part * 2**32) - 2**31
    dropped = bytes_ < ops.cast(int(whole) + ops.cast(extra, "int32"), "uint8")
    return ops.where(dropped, 0.0, x * (1 / (1 - rate)))
