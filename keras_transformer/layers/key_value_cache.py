"""Keys and values of the positions that decoding has passed.

They stand in the order that the products of attention need:

- keys (sources, heads, key_dim, slots),
- values (sources, heads, slots, value_dim),

in blocks that end at 48, 192, 768, ... positions, so that a step reads the blocks that
are begun and not the room for all. (Finer ones cost more to compile than they save.)
The hypotheses of a source share its row: slot `position * hypotheses + i` is that of
hypothesis `i`, and nothing moves when a search drops some hypotheses and splits others,
see `lineage`.
"""

from keras import ops

from keras_transformer.argument_checks import check_positive_integer
from keras_transformer.layers.known_values import known_range, known_values
from keras_transformer.layers.plain_graph import is_plain, plain_update
from keras_transformer.layers.token_ids import out_of_range

FIRST_BLOCK, GROWTH = 48, 4


def begun_blocks(index, new, ends):
    """Return how many of the blocks that end at `ends` are begun.

    Args:
        index: position of the first new row, an integer or scalar tensor.
        new: number of new rows.
        ends: a list of integers.

    Returns:
        An integer where the number is known, else an int32 scalar tensor.
    """
    _, highest = known_range(index)
    if highest is not None and isinstance(new, int):
        return 1 + sum(int(highest + new > end) for end in ends[:-1])
    return 1 + sum(ops.cast(index + new > end, "int32") for end in ends[:-1])


def block_ends(max_length):
    """Positions at which the blocks of a cache end: 48, 192, ..., max_length."""
    ends, end = [], FIRST_BLOCK
    while end < max_length:
        ends.append(end)
        end *= GROWTH
    return [*ends, max_length]


def empty_cache(attention, sources, max_length, hypotheses=1):
    """Make room for `max_length` positions of a `MultiHeadAttention`.

    Returns:
        `{"key": [...], "value": [...]}`, a list of blocks each, zeros in the layer's
        compute dtype.
    """
    check_positive_integer("max_length", max_length)
    heads, dtype = attention.num_key_value_heads, attention.compute_dtype
    cache, begin = {"key": [], "value": []}, 0
    for end in block_ends(max_length):
        slots, begin = (end - begin) * hypotheses, end
        key_shape = (sources, heads, attention.key_dim, slots)
        value_shape = (sources, heads, slots, attention.value_dim)
        cache["key"].append(ops.zeros(key_shape, dtype))
        cache["value"].append(ops.zeros(value_shape, dtype))
    return cache


def max_length_of(cache, hypotheses=1):
    """Return the number of positions that a cache has room for."""
    slots = sum(block.shape[3] for block in cache["key"])
    if slots % hypotheses:
        raise ValueError(
            "`hypotheses` must be as it was in `start`, which made a cache of "
            f"{slots} slots. Received: {hypotheses}."
        )
    return slots // hypotheses


def laid_out(key, value, hypotheses=1):
    """Bring keys and values (sources * hypotheses, new, heads, dim) to this order."""
    if hypotheses == 1:
        key, value = (
            ops.transpose(key, (0, 2, 3, 1)),
            ops.transpose(value, (0, 2, 1, 3)),
        )
        return {"key": key, "value": value}
    new, heads = ops.shape(key)[1], key.shape[2]
    key = ops.reshape(key, (-1, hypotheses, new, heads, key.shape[3]))
    key = ops.transpose(key, (0, 3, 4, 2, 1))
    value = ops.reshape(value, (-1, hypotheses, new, heads, value.shape[3]))
    value = ops.transpose(value, (0, 3, 2, 1, 4))
    return {
        "key": ops.reshape(key, (-1, heads, key.shape[2], new * hypotheses)),
        "value": ops.reshape(value, (-1, heads, new * hypotheses, value.shape[4])),
    }


def write_cache(cache, key, value, index, hypotheses=1):
    """Put keys and values (sources * hypotheses, new, heads, dim) at `index`.

    What does not fit is not written: it cannot land in another's slot, as it does
    where an index is clamped.

    Raises:
        ValueError: where `index` is known and the positions do not fit, or for another
            number of rows.
    """
    rows, sources = key.shape[0], cache["key"][0].shape[0]
    if None not in (rows, sources) and rows != sources * hypotheses:
        raise ValueError(
            f"A cache of {sources} sources takes {sources * hypotheses} rows with "
            f"`hypotheses`={hypotheses}. Received: {rows} rows."
        )
    capacity, new = max_length_of(cache, hypotheses), key.shape[1]
    known = known_values(index)
    if known is not None and not 0 <= known <= capacity - (new or 0):
        raise ValueError(
            f"`index` must leave room for {new} new positions in a cache of "
            f"`max_length`={capacity}. Received: index={known}."
        )
    rows, written = laid_out(key, value, hypotheses), {}
    for name, axis in (("key", 3), ("value", 2)):
        blocks, begin = [], 0
        for block in cache[name]:
            end = begin + block.shape[axis] // hypotheses
            new_rows = ops.cast(rows[name], block.dtype)
            place = (index - begin) * hypotheses if begin else index * hypotheses
            if (write := _writer(index, new, begin, end)) is not None:
                block = write(block, new_rows, place, axis)
            blocks.append(block)
            begin = end
        written[name] = blocks
    return written


def _writer(index, new, begin, end):
    """Choose how to write `new` positions from `index` on to a block.

    Args:
        index: an integer or scalar tensor.
        new: number of positions, `None` if unknown.
        begin: first position of the block.
        end: the first one behind it.

    Returns:
        A function of the block, the rows, their first slot and the axis of slots;
        `None` if nothing lands in this block.
    """
    lowest, highest = known_range(index)
    if new is not None and lowest is not None:
        if lowest >= end or highest + new <= begin:
            return None
        if lowest >= begin and highest + new <= end:
            return plain_update() or (_choose if is_plain() else _update)
    return _choose if new != 1 or is_plain() else _update_if_it_fits


def _update(block, rows, place, axis):
    """Update a slice."""
    start = [0, 0, 0, 0]
    start[axis] = ops.convert_to_tensor(place, dtype="int32")
    return ops.slice_update(block, start, rows)


def _update_if_it_fits(block, rows, place, axis):
    """Update a slice; where it does not fit, with what stands there."""
    last = block.shape[axis] - rows.shape[axis]
    place = ops.convert_to_tensor(place, dtype="int32")
    start = [0, 0, 0, 0]
    start[axis] = ops.clip(place, 0, last)
    there = ops.slice(block, start, ops.shape(rows))
    fits = ops.logical_and(place >= 0, place <= last)
    return ops.slice_update(block, start, ops.where(fits, rows, there))


def _choose(block, rows, place, axis):
    """Let each slot choose between its old row and a new one."""
    new = ops.shape(rows)[axis]
    slots = ops.arange(block.shape[axis], dtype="int32")
    if rows.shape[axis] == 1:
        hit = ops.equal(slots, place)
    else:
        row = slots - place  # of the new, by slot
        hit = ops.logical_and(row >= 0, row < new)
        rows = ops.take(rows, ops.clip(row, 0, new - 1), axis=axis)
    return ops.where(hit if axis == 3 else hit[:, None], rows, block)


def stop_at_overflow(y, max_length, index):
    """Stop the run if the new positions `y` do not fit and nobody could know before.

    A compiled function cannot raise on every backend. Reading past the end of a table
    is an error in TensorFlow graphs; where it is not (XLA, JAX), `y` becomes NaN.
    """
    if isinstance(index, int):
        return y
    last = index + ops.shape(y)[1] - 1
    table = ops.zeros((max_length,), dtype=y.dtype)
    y = y + ops.take(table, out_of_range(last, max_length), axis=0)
    fits = ops.logical_and(index >= 0, last < max_length)
    return y + ops.cast(ops.where(fits, 0.0, float("nan")), y.dtype)
