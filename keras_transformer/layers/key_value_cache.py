"""Keys and values of the positions that decoding has passed."""

from keras import ops

from keras_transformer.argument_checks import check_positive_integer
from keras_transformer.attention import causal_mask
from keras_transformer.layers.known_values import known_values
from keras_transformer.layers.token_ids import out_of_range


def empty_cache(attention, batch_size, max_length):
    """Make room for `max_length` positions of a `MultiHeadAttention`.

    Returns:
        `{"key": ..., "value": ...}`, zeros (batch_size, max_length, heads, head_dim)
        in the layer's compute dtype.
    """
    max_length = check_positive_integer("max_length", max_length)
    heads, dtype = attention.num_key_value_heads, attention.compute_dtype
    return {
        "key": ops.zeros((batch_size, max_length, heads, attention.key_dim), dtype),
        "value": ops.zeros((batch_size, max_length, heads, attention.value_dim), dtype),
    }


def write_cache(cache, key, value, index):
    """Put new keys and values (batch, new, heads, head_dim) at position `index`.

    Each slot picks its row, so a row past the end finds no slot: it cannot land in
    another's, as it does where an index is clamped.

    Raises:
        ValueError: where `index` is known and the rows do not fit.
    """
    capacity, new = cache["key"].shape[1], key.shape[1]
    known = known_values(index)
    if known is not None and not 0 <= known <= capacity - (new or 0):
        raise ValueError(
            f"`index` must leave room for {new} new positions in a cache of "
            f"`max_length`={capacity}. Received: index={known}."
        )
    if isinstance(index, int) and index == 0 and new == capacity:
        return {"key": key, "value": value}
    row = ops.arange(capacity, dtype="int32") - index  # of the new rows, by slot
    hit = ops.logical_and(row >= 0, row < ops.shape(key)[1])[:, None, None]

    def write(old, rows):
        if new != 1:
            rows = ops.take(rows, ops.clip(row, 0, ops.shape(key)[1] - 1), axis=1)
        return ops.where(hit, ops.cast(rows, old.dtype), old)

    return {"key": write(cache["key"], key), "value": write(cache["value"], value)}


def visible_keys(x, cached, index):
    """Causal mask of the new positions `x` over all slots of the cache."""
    return causal_mask(ops.shape(x)[1], cached.shape[1], index)


def stop_at_overflow(y, cached, index):
    """Stop the run if the new positions `y` do not fit and nobody could know before.

    A compiled function cannot raise on every backend. Reading past the end of a table
    is an error in TensorFlow graphs; where it is not (XLA, JAX), `y` becomes NaN.
    """
    if isinstance(index, int):
        return y
    capacity, last = cached.shape[1], index + ops.shape(y)[1] - 1
    table = ops.zeros((capacity,), dtype=y.dtype)
    y = y + ops.take(table, out_of_range(last, capacity), axis=0)
    fits = ops.logical_and(index >= 0, last < capacity)
    return y + ops.cast(ops.where(fits, 0.0, float("nan")), y.dtype)
