"""Sums of what blocks add to a gradient."""

from keras import ops

from keras_transformer.attention.distance_bias import row_from_bias


class BlockTotals:
    """Gradients of all inputs, to which one block after another adds its part.

    What a block reads only some rows of is kept with these rows as its first axis.

    Args:
        blocks: the `QueryBlocks`.
        inputs: a dictionary, see `attend_by_block`.
    """

    def __init__(self, blocks, inputs):
        self.blocks, self.inputs = blocks, inputs

    def empty(self):
        """Return the totals before the first block, in float32 where they are sums."""
        return [self._empty(name, x) for name, x in self.inputs.items()]

    def added(self, totals, parts, index):
        """Return the totals with a block's parts, a dictionary."""
        named = zip(self.inputs, totals, strict=True)
        return [self._added(name, total, parts[name], index) for name, total in named]

    def finished(self, totals):
        """Return the gradients by name, in the shapes and dtypes of the inputs."""
        found = {}
        for (name, x), total in zip(self.inputs.items(), totals, strict=True):
            if self._in_rows(name):
                last = (1, 2, 0, 3) if name != "row" else (1, 2, 0)
                total = ops.transpose(total, last)
            found[name] = ops.cast(total, x.dtype)
        return found

    def _in_rows(self, name):
        return name == "row" or (name in ("key", "value") and not self.blocks.reads_all)

    def _empty(self, name, x):
        shape = tuple(ops.shape(x))
        if self._in_rows(name):
            shape = (shape[2], *shape[:2], *shape[3:])
        return ops.zeros(shape, x.dtype if len(x.shape) == 5 else "float32")

    def _added(self, name, total, part, index):
        x, blocks = self.inputs[name], self.blocks
        if name == "row":
            part = row_from_bias(part, blocks.size, blocks.reach)
            part = _summed_as(part, (*x.shape[:2], None))
            rows = blocks.distances_of(index)
            return _add_rows(total, rows, ops.transpose(part, (2, 0, 1)))
        if name == "bias":
            part = _summed_as(part, x.shape[-4:])
        if len(x.shape) == 5:
            return put(total, index, ops.cast(part, total.dtype))
        part = ops.cast(part, "float32")
        if self._in_rows(name):
            part = ops.transpose(part, (2, 0, 1, 3))
            return _add_rows(total, blocks.keys_of(index), part)
        return ops.reshape(total + part, ops.shape(total))


def put(total, index, part):
    """Write a block's part at its index."""
    return _unless_empty(
        total,
        lambda: ops.scatter_update(total, ops.reshape(index, (1, 1)), part[None]),
    )


def _add_rows(total, rows, part):
    sums = ops.take(total, rows, axis=0) + part
    return _unless_empty(total, lambda: ops.scatter_update(total, rows[:, None], sums))


def _unless_empty(total, update):
    """Update a total, unless nothing is in it: TensorFlow refuses to write nothing."""
    shape = tuple(total.shape)
    if 0 in shape:
        return total
    if None not in shape:
        return update()
    return ops.cond(ops.size(total) > 0, update, lambda: total)


def _summed_as(part, shape):
    """Sum over the axes that are 1 in `shape`."""
    axes = [axis for axis, size in enumerate(shape) if size == 1]
    return ops.sum(part, axis=axes, keepdims=True) if axes else part
