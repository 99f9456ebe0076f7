"""Which slots of a shared cache belong to which hypothesis.

A beam search goes on from some hypotheses several times and from others not at all.
Their keys and values need not be copied for that: they stay where they were written,
and each hypothesis knows its line of ancestors, the writer of its every position.
"""

import keras
from keras import ops

from keras_transformer.attention import causal_mask, key_mask, window_mask


def own_line(rows, max_length, hypotheses):
    """Begin with each hypothesis as the writer of all its positions.

    Returns:
        int32 (rows, max_length): for each hypothesis and position, which of the
        source's hypotheses wrote the slot.
    """
    writer = ops.arange(rows, dtype="int32") % hypotheses
    return ops.broadcast_to(writer[:, None], (rows, max_length))


def written_by_oneself(lineage, index, hypotheses):
    """Note that positions from `index` on are each hypothesis's own."""
    rows, length = ops.shape(lineage)[0], lineage.shape[1]
    is_new = ops.arange(length, dtype="int32") >= index
    return ops.where(is_new, own_line(rows, length, hypotheses), lineage)


def check_lineage(lineage, rows, max_length):
    """Raise `ValueError` unless a lineage is int32 (rows, max_length), if known."""
    shape = tuple(lineage.shape)
    dtype = keras.backend.standardize_dtype(lineage.dtype)
    fits = len(shape) == 2 and all(
        size == want or not (isinstance(size, int) and isinstance(want, int))
        for size, want in zip(shape, (rows, max_length), strict=True)
    )
    if not fits or "int" not in dtype:
        raise ValueError(
            f"`lineage` must be int32 of shape (rows, max_length), here ({rows}, "
            f"{max_length}). Received: {dtype} of shape {shape}."
        )


def visible_slots(lineage, index, new, hypotheses, padding_mask=None, window=None):
    """Let new positions see themselves and those before them in their line.

    Args:
        lineage: int32 (sources * hypotheses, max_length).
        index: position of the first of the new ones.
        new: number of new positions of each hypothesis.
        hypotheses: number of adjacent rows for each source.
        padding_mask: boolean (sources * hypotheses, max_length), True at real ones.
        window: number of the last positions that are seen, `None` for all.

    Returns:
        Boolean (sources, 1, hypotheses * new, max_length * hypotheses): the queries
        in the order of the rows, the slots in the order of the cache. For single
        hypotheses the axis of the sources may be 1.
    """
    length = lineage.shape[1]
    seen = causal_mask(new, length, index)  # (1, 1, new, max_length)
    if window is not None:
        seen = ops.logical_and(seen, window_mask(new, length, window, index))
    if padding_mask is not None:
        seen = ops.logical_and(seen, key_mask(padding_mask))
    if hypotheses == 1:
        return seen
    writer = ops.arange(hypotheses, dtype="int32")
    own = lineage[:, None, :, None] == writer  # (rows, 1, max_length, hypotheses)
    seen = ops.logical_and(seen[:, 0, :, :, None], own)
    return ops.reshape(seen, (-1, 1, hypotheses * new, length * hypotheses))
