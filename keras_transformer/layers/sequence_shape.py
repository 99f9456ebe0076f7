"""The shape that sequence layers work on."""

from keras import ops


def check_sequence_shape(shape, name="inputs"):
    """Raise `ValueError` unless a shape is (batch, length, width), the width known."""
    if len(shape) != 3 or shape[-1] is None:
        raise ValueError(
            f"`{name}` must have shape (batch, length, width) with a known width. "
            f"Received: shape {tuple(shape)}."
        )


def check_heads_shape(shape, name="inputs"):
    """Raise `ValueError` unless a shape is (batch, length, heads, head_dim)."""
    if len(shape) != 4 or None in shape[2:]:
        raise ValueError(
            f"`{name}` must have shape (batch, length, heads, head_dim) with known "
            f"heads and head_dim. Received: shape {tuple(shape)}."
        )


def check_floating(x, name="inputs"):
    """Raise `ValueError` unless a tensor is floating point."""
    if "float" not in str(x.dtype):
        raise ValueError(
            f"`{name}` must be floating point: vectors, not token ids. "
            f"Received: dtype {x.dtype}."
        )


def target_shape(x):
    """Return the shape of a tensor, to reshape another to it.

    Where a graph knows all axes but one, that is -1: nothing has to be looked up.
    """
    shape = tuple(x.shape)
    if shape.count(None) != 1 or 0 in shape:
        return ops.shape(x)
    return tuple(-1 if size is None else size for size in shape)
