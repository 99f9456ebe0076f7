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
    """The `count` largest of the last axis in descending order, and int32 indices.

    Of equal values the first come first (PyTorch has no order among them). Long rows
    are searched in two steps: the largest values lie in the blocks with the largest
    maxima, of which no more than `count` are needed.

    Args:
        values: `(batch, length)`, the length known.
        count: int of at most `length`.
    """
    block = _block_size(values.shape[-1])
    if block is None or values.shape[-1] // block <= count:
        return _top(values, count)
    blocks = ops.reshape(values, (-1, values.shape[-1] // block, block))
    _, chosen = _top(ops.max(blocks, axis=-1), count)
    chosen = ops.sort(chosen, axis=-1)  # so that equal values keep their order
    best, places = _top(ops.reshape(pick(blocks, chosen), (-1, count * block)), count)
    number = ops.floor_divide(places, block)
    return best, pick(chosen, number) * block + places - number * block


def _top(values, count):
    best, indices = ops.top_k(values, k=count, sorted=True)
    return best, ops.cast(indices, "int32")


def _block_size(length):
    """The divisor of `length` from 16 to 256 that is nearest to 64, if any."""
    sizes = [size for size in range(16, 257) if length % size == 0]
    return min(sizes, key=lambda size: abs(size - 64), default=None)
