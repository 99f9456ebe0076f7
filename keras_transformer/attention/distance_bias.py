"""A bias that depends only on the distance of query and key, kept as one row of it.

Over all pairs it repeats itself along the diagonals. The row holds each distance once:

```
row[s] = bias at distance offset + queries - 1 - s,   0 <= s < queries + keys - 1
bias[q, k] = row[queries - 1 - q + k]
```
"""

from keras import ops

from keras_transformer.attention.masks import as_four_axes


def distance_row(bias_at, queries, keys, offset):
    """Compute the row of a bias.

    Args:
        bias_at: as for `dot_product_attention`.
        queries: number of queries, an integer or scalar tensor.
        keys: number of keys.
        offset: row among the keys at which the first query stands.

    Returns:
        (batch or 1, heads or 1, queries + keys - 1), float32.
    """
    to_first_key = as_four_axes(bias_at(queries, 1, offset))[:, :, :, 0]
    from_first_query = as_four_axes(bias_at(1, keys, offset))[:, :, 0]
    row = [ops.flip(to_first_key, axis=2), from_first_query[:, :, 1:]]
    return ops.cast(ops.concatenate(row, axis=2), "float32")


def bias_from_row(row, queries, keys):
    """Spread a row over all pairs.

    The row repeated without a gap, and cut into lines that are longer by one, moves by
    one with each line. That is faster than to look each pair up.

    Args:
        row: (batch, heads, queries + keys - 1).
        queries: number of queries.
        keys: number of keys.

    Returns:
        (batch, heads, queries, keys).
    """
    lead, length = ops.shape(row)[:2], queries + keys - 1
    repeated = ops.tile(row[:, :, None], (1, 1, queries + 1, 1))
    flat = ops.reshape(repeated, (*lead, (queries + 1) * length))
    lines = flat[:, :, : queries * (length + 1)]
    lines = ops.reshape(lines, (*lead, queries, length + 1))[..., :keys]
    return ops.flip(lines, axis=2)


def row_from_bias(bias, queries, keys):
    """Sum over the pairs of each distance: the gradient of `bias_from_row`.

    Args:
        bias: (batch, heads, queries, keys).
        queries: number of queries.
        keys: number of keys.

    Returns:
        (batch, heads, queries + keys - 1).
    """
    lead, length = ops.shape(bias)[:2], queries + keys - 1
    room = ops.zeros((*lead, queries, queries), bias.dtype)
    lines = ops.concatenate([ops.flip(bias, axis=2), room], axis=3)
    flat = ops.reshape(lines, (*lead, queries * (length + 1)))[:, :, : queries * length]
    return ops.sum(ops.reshape(flat, (*lead, queries, length)), axis=2)
