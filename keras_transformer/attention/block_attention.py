"""Attention of one block of queries after another, and its gradient.

```
S = Q K^T + bias,  P = softmax(S),  O = P V

dV = P^T dO
dP = dO V^T
dS = P * (dP - rowsum(dO * O))
dQ = dS K,  dK = dS^T Q,  dbias = dS
```

Automatic differentiation would keep the P of each block, so all pairs. With dropout,
the P of `O` and of `dV` is the dropped one, and dP passes through the same dropout.
"""

import keras
from keras import ops

from keras_transformer.attention.block_totals import BlockTotals, put
from keras_transformer.attention.distance_bias import bias_from_row
from keras_transformer.attention.dot_product import biased, silenced, softmax_scores
from keras_transformer.attention.dropout import byte_dropout
from keras_transformer.attention.first_order import not_differentiable
from keras_transformer.attention.masks import combine_masks
from keras_transformer.attention.seeded_block import BlockSeed

ONCE = (
    "Blockwise attention has no second derivatives. For them take "
    '`attention="dot_product"`.'
)


def attend_by_block(blocks, tensors, *, mask=None, dropout=0.0, number=None):
    """Attend from each block of queries to the keys that it can see.

    Args:
        blocks: the `QueryBlocks`.
        tensors: a dictionary of what has a gradient: `"query"`, split and scaled;
            `"key"` and `"value"`, (batch, heads, key, dim); and, if any, `"bias"`, from
            `split_pairs`, and `"row"`, an extended `distance_row`.
        mask: from `split_pairs`.
        dropout: share of the scores that is dropped.
        number: from `draw_number`, where there is dropout.

    Returns:
        (blocks, batch, heads, size, value_dim).
    """
    # What has no gradient is an argument, too: JAX allows no tracer from outside.
    constants = {"mask": mask, "number": number}
    constants = {name: x for name, x in constants.items() if x is not None}

    @ops.custom_gradient
    def attend(*given):
        # Cut off from the record of a gradient tape, which would keep each block's P.
        # JAX would take it for a second derivative of zero.
        if keras.backend.backend() != "jax":
            given = [ops.stop_gradient(tensor) for tensor in given]
        inputs = dict(zip(tensors, given, strict=False))
        others = dict(zip(constants, given[len(tensors) :], strict=True))
        attention = BlockAttention(blocks, dropout=dropout, **others)
        contexts = attention.contexts(inputs)

        def gradient(*arguments, upstream=None):
            if upstream is None:  # PyTorch names it
                (upstream,) = arguments
            found = attention.gradients(inputs, contexts, upstream)
            found = [not_differentiable(found[name], ONCE) for name in tensors]
            return (*found, *[None] * len(constants))

        return contexts, gradient

    return attend(*tensors.values(), *constants.values())


class BlockAttention:
    """The loops over the blocks, forward and backward.

    Args:
        blocks: as for `attend_by_block`, like the others.
        mask: what each query may see.
        dropout: share of the scores that is dropped.
        number: where the seeds of the dropout begin.
    """

    def __init__(self, blocks, mask=None, dropout=0.0, number=None):
        self.blocks, self.mask = blocks, mask
        self.dropout, self.number = dropout, number

    def contexts(self, inputs):
        """Attend; the inputs and the result are those of `attend_by_block`."""
        query, value = inputs["query"], inputs["value"]

        def body(index, total):
            scores, allowed = self._scores(inputs, index)
            kept = self._dropped(ops.cast(scores, query.dtype), index)
            found = ops.einsum("bhqk,bhkd->bhqd", kept, self._read(value, index))
            return index + 1, put(total, index, silenced(found, allowed))

        empty = ops.zeros((*ops.shape(query)[:4], value.shape[3]), query.dtype)
        return self._loop(body, empty)[0]

    def gradients(self, inputs, contexts, upstream):
        """Return the gradients by the names of the inputs."""
        totals = BlockTotals(self.blocks, inputs)
        along = ops.cast(contexts, "float32") * ops.cast(upstream, "float32")
        along = ops.sum(along, axis=-1, keepdims=True)  # rowsum(dO * O)

        def body(index, *parts):
            found = self._of_block(inputs, index, upstream[index], along[index])
            return index + 1, *totals.added(parts, found, index)

        return totals.finished(self._loop(body, *totals.empty()))

    def _of_block(self, inputs, index, upstream, along):
        query, dtype = inputs["query"][index], upstream.dtype
        key, value = (self._read(inputs[name], index) for name in ("key", "value"))
        scores, allowed = self._scores(inputs, index)
        upstream = silenced(upstream, allowed)
        kept = self._dropped(ops.cast(scores, dtype), index)
        of_scores = ops.einsum("bhqd,bhkd->bhqk", upstream, value)
        of_scores = ops.cast(self._dropped(of_scores, index), "float32")
        of_logits = scores * (of_scores - along)  # (batch, heads, size, reach)
        half = ops.cast(of_logits, dtype)
        return {
            "query": ops.einsum("bhqk,bhkd->bhqd", half, key),
            "key": ops.einsum("bhqk,bhqd->bhkd", half, query),
            "value": ops.einsum("bhqk,bhqd->bhkd", kept, upstream),
            "bias": of_logits,
            "row": of_logits,
        }

    def _scores(self, inputs, index):
        """Compute a block's scores, in float32, and its mask."""
        blocks = self.blocks
        key = self._read(inputs["key"], index)
        logits = ops.einsum("bhqd,bhkd->bhqk", inputs["query"][index], key)
        logits = ops.cast(logits, "float32")
        if "bias" in inputs:
            logits = biased(logits, blocks.of_block(inputs["bias"], index))
        if "row" in inputs:
            row = ops.take(inputs["row"], blocks.distances_of(index), axis=2)
            logits = biased(logits, bias_from_row(row, blocks.size, blocks.reach))
        allowed = self._allowed(index)
        return softmax_scores(logits, allowed), allowed

    def _allowed(self, index):
        mask = self.blocks.of_block(self.mask, index)
        if mask is not None and mask.shape[3] != 1:
            mask = self._read(mask, index, axis=3)
        return combine_masks(mask, self.blocks.row_mask(index))

    def _read(self, x, index, axis=2):
        """Return what a block reads of all keys."""
        keys = self.blocks.keys_of(index)
        return x if keys is None else ops.take(x, keys, axis=axis)

    def _dropped(self, scores, index):
        if not self.dropout:
            return scores
        return byte_dropout(scores, self.dropout, BlockSeed(self.number, index))

    def _loop(self, body, *start):
        first = ops.convert_to_tensor(0, dtype="int32")
        _, *found = ops.while_loop(
            lambda index, *_: index < self.blocks.count, body, (first, *start)
        )
        return found
