"""Random numbers that a block can draw again for its gradient."""

import keras
from keras import ops


def draw_number(seed):
    """Draw the number that all blocks' seeds begin with, an int32 scalar."""
    return keras.random.randint((), 0, 2**30, dtype="int32", seed=seed)


class BlockSeed(keras.random.SeedGenerator):
    """A seed that is a tensor, and stays as it is when drawn from.

    A generator would move on, and the gradient would see another dropout.

    Args:
        number: from `draw_number`.
        index: the block's index.
    """

    def __init__(self, number, index):
        # What a generator holds is a variable, which no loop can make.
        self._value = ops.stack([number, ops.cast(index, "int32")])

    def next(self, ordered=True):
        """Return the seed."""
        dtype = "uint32" if keras.backend.backend() == "jax" else "int32"
        return ops.cast(self._value, dtype)
