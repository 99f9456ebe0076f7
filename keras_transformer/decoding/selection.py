"""Picking hypotheses out of a batch with flat indices."""

from keras import ops


def flat_rows(indices, count):
    """Indices into axis 0 of a `(batch * count, ...)` tensor.

    Args:
        indices: int32 `(batch, chosen)`, each in `[0, count)`.
        count: int, hypotheses per batch row.

    Returns:
        int32 `(batch * chosen,)`.
    """
    batch = ops.shape(indices)[0]
    offsets = ops.arange(batch, dtype="int32") * count
    return ops.reshape(offsets[:, None] + indices, (-1,))


def pick(values, indices):
    """`values[b, indices[b, i]]` for every batch row `b`.

    Args:
        values: `(batch, count, ...)`; all dimensions but the first are static.
        indices: int32 `(batch, chosen)`, each in `[0, count)`.

    Returns:
        `(batch, chosen, ...)`.
    """
    count, *rest = tuple(values.shape)[1:]
    batch, chosen = ops.shape(values)[0], indices.shape[1]
    flat = ops.reshape(values, (batch * count, *rest))
    chosen_rows = ops.take(flat, flat_rows(indices, count), axis=0)
    return ops.reshape(chosen_rows, (batch, chosen, *rest))


def top(values, count):
    """The `count` largest of the last axis in descending order, and int32 indices."""
    best, indices = ops.top_k(values, k=count, sorted=True)
    return best, ops.cast(indices, "int32")
