"""The positions of a sequence's rows."""

from keras import ops

from keras_transformer.layers.position_seam import as_positions


def row_positions(x, start_index=0, positions=None):
    """Return the positions of the rows of a sequence.

    Args:
        x: (batch, length, ...).
        start_index: position of the first row, an integer or scalar tensor.
        positions: int32 (batch, length), where rows don't follow one another.

    Returns:
        int32 (length,), or (batch, length) for explicit positions.

    Raises:
        ValueError: for positions of another shape, or a start index beside them.
    """
    positions = check_row_positions(x, start_index, positions)
    if positions is None:
        return ops.arange(ops.shape(x)[1], dtype="int32") + start_index
    return ops.cast(positions, "int32")


def check_row_positions(x, start_index, positions):
    """Check the arguments of `row_positions`, of which `x` may be symbolic."""
    if positions is not None and not (isinstance(start_index, int) and not start_index):
        raise ValueError(
            "`start_index` and `positions` exclude each other. "
            f"Received: start_index={start_index}, and positions."
        )
    return as_positions(positions, x.shape)
