"""The shape that sequence layers work on."""


def check_sequence_shape(shape, name="inputs"):
    """Raise `ValueError` unless a shape is (batch, length, width), the width known."""
    if len(shape) != 3 or shape[-1] is None:
        raise ValueError(
            f"`{name}` must have shape (batch, length, width) with a known width. "
            f"Received: shape {tuple(shape)}."
        )


def check_floating(x, name="inputs"):
    """Raise `ValueError` unless a tensor is floating point."""
    if "float" not in str(x.dtype):
        raise ValueError(
            f"`{name}` must be floating point: vectors, not token ids. "
            f"Received: dtype {x.dtype}."
        )
