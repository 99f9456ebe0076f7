"""Queries in blocks of one size, and the keys that each block can see."""

from keras import ops

from keras_transformer.attention.masks import as_four_axes, row_mask


class QueryBlocks:
    """How a number of queries is cut, padded at its end to whole blocks.

    Lengths are integers, or scalar tensors where they are unknown.

    Args:
        queries: number of queries.
        keys: number of keys.
        longest: number of queries that no block exceeds.
        causal: whether a query sees only keys up to its own row.
        window: a query sees only keys at a distance of rows below it.
        offset: row among the keys at which the first query stands.
        all_keys: whether a block reads all keys, and not only those in reach.
    """

    def __init__(
        self,
        queries,
        keys,
        *,
        longest,
        causal=False,
        window=None,
        offset=0,
        all_keys=False,
    ):
        self.queries, self.keys = queries, keys
        self.count = _at_least_one(-(-queries // longest))
        self.size = -(-queries // self.count)
        self.causal, self.window, self.offset = causal, window, offset
        self.reach = keys
        if window is not None and not all_keys:
            sides = 1 if causal else 2
            self.reach = _smaller(keys, self.size + sides * (window - 1))
        # One Python object where all keys are in reach, known or not.
        self.reads_all = self.reach is keys or (
            isinstance(keys, int) and self.reach == keys
        )

    def split(self, x):
        """Bring (batch, heads, queries, any) to (blocks, batch, heads, size, any)."""
        batch, heads, _, last = ops.shape(x)
        missing = self.count * self.size - self.queries
        padding = ops.zeros((batch, heads, missing, last), x.dtype)
        x = ops.concatenate([x, padding], axis=2)
        x = ops.reshape(x, (batch, heads, self.count, self.size, last))
        return ops.transpose(x, (2, 0, 1, 3, 4))

    def joined(self, x):
        """Undo `split`."""
        x = ops.transpose(x, (1, 2, 0, 3, 4))
        batch, heads, _, _, last = ops.shape(x)
        x = ops.reshape(x, (batch, heads, self.count * self.size, last))
        return x[:, :, : self.queries]

    def split_pairs(self, x, batch, heads):
        """Split a mask or bias of (batch, heads, queries, keys), any axis may be 1.

        One that is the same for all queries stays as it is, with its four axes.
        """
        if x is None:
            return None
        x = as_four_axes(x)
        sizes = zip(x.shape, (batch, heads, self.queries, self.keys), strict=True)
        known = [full if size is None else size for size, full in sizes]
        x = ops.broadcast_to(x, known)  # an unknown size may be 1
        return x if x.shape[2] == 1 else self.split(x)

    def of_block(self, x, index):
        """Return a block's part of what `split_pairs` gave."""
        return x if x is None or len(x.shape) == 4 else x[index]

    def extended_row(self, row):
        """Give a `distance_row` the distances of the padding."""
        missing = self.count * self.size - self.queries
        padding = ops.zeros((*ops.shape(row)[:2], missing), row.dtype)
        return ops.concatenate([padding, row], axis=2)

    def first_key(self, index):
        """Return the first key that a block reads."""
        if self.reads_all:
            return 0
        first = self.offset + index * self.size - ((self.window or 1) - 1)
        return ops.clip(first, 0, self.keys - self.reach)

    def keys_of(self, index):
        """Return the rows of the keys that a block reads, `None` for all."""
        if self.reads_all:
            return None
        return self.first_key(index) + ops.arange(self.reach, dtype="int32")

    def distances_of(self, index):
        """Return the places of a block's distances in an extended `distance_row`."""
        place = (self.count - 1 - index) * self.size + self.first_key(index)
        return place + ops.arange(self.size + self.reach - 1, dtype="int32")

    def row_mask(self, index):
        """Return what a block's rows may see, (1, 1, size, reach), or `None`."""
        offset = self.offset + index * self.size - self.first_key(index)
        return row_mask(self.size, self.reach, offset, self.causal, self.window)


def _at_least_one(count):
    return max(count, 1) if isinstance(count, int) else ops.maximum(count, 1)


def _smaller(one, other):
    if isinstance(one, int) and isinstance(other, int):
        return min(one, other)
    return ops.minimum(one, other)
