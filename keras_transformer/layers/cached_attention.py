"""Attention to keys and values that stand in a cache.

Attention treats each query by itself, so the hypotheses of a source can stand side by
side as further queries to its one row of keys and values.
"""

import math

from keras import ops

from keras_transformer.attention import attend_by_head
from keras_transformer.attention.dot_product import softmax_scores
from keras_transformer.attention.linear_sums import positive_features, shares
from keras_transformer.layers.key_value_cache import (
    begun_blocks,
    block_ends,
    max_length_of,
)


def attend_cached(attention, x, cache, *, mask=None, bias=None, hypotheses=1, offset=0):
    """Attend from new positions to all slots of a cache.

    Args:
        attention: the `MultiHeadAttention`.
        x: (sources * hypotheses, new, width), not projected.
        cache: `{"key", "value"}`, a list of blocks each, see `key_value_cache`.
        mask: boolean, broadcastable to (sources, heads, hypotheses * new, slots).
        bias: added to the scores, broadcastable to the same shape.
        hypotheses: number of adjacent rows for each source.
        offset: position of the first new one.

    Returns:
        (sources * hypotheses, new, output width), and the scores (sources, heads,
        hypotheses * new, slots).
    """
    query = attention.project_query(x, offset=offset)
    query, keys, as_scores = _factors(attention, query, cache["key"])
    new, heads, dim = ops.shape(query)[1], query.shape[2], query.shape[3]
    if hypotheses > 1:
        query = ops.reshape(query, (-1, hypotheses * new, heads, dim))
    query = ops.transpose(query, (0, 2, 1, 3))  # (sources, heads, queries, head_dim)
    queries, kv_heads = hypotheses * new, attention.num_key_value_heads
    shared_by = heads // kv_heads
    if shared_by > 1:
        # The heads that share keys and values stand side by side as further queries.
        query = ops.reshape(query, (-1, kv_heads, shared_by * queries, dim))
        mask, bias = (_grouped(part, shared_by) for part in (mask, bias))
    context, scores = attend_by_head(
        query, keys, cache["value"], mask=mask, bias=bias, as_scores=as_scores
    )
    # Linear attention sums in float32.
    context, scores = (ops.cast(y, attention.compute_dtype) for y in (context, scores))
    if shared_by > 1:
        context = ops.reshape(context, (-1, heads, queries, context.shape[3]))
        scores = ops.reshape(scores, (-1, heads, queries, ops.shape(scores)[3]))
    context = ops.transpose(context, (0, 2, 1, 3))
    if hypotheses > 1:
        context = ops.reshape(context, (-1, new, heads, context.shape[3]))
    return attention.output_dense(context), scores


def _factors(attention, query, keys):
    """Return what is multiplied, and how products become scores."""
    if attention.attention != "linear":
        scale = ops.cast(1.0 / math.sqrt(attention.key_dim), query.dtype)
        return query * scale, keys, softmax_scores
    return positive_features(query), [positive_features(key) for key in keys], shares


def _grouped(part, shared_by):
    """Bring (sources, heads, queries, keys) to the heads of the keys; 1 stays 1."""
    if part is None or (part.shape[1] == 1 and part.shape[2] == 1):
        return part
    if part.shape[1] == 1:
        return ops.tile(part, (1, 1, shared_by, 1))
    kv_heads, queries = part.shape[1] // shared_by, ops.shape(part)[2]
    keys = ops.shape(part)[3]
    return ops.reshape(part, (-1, kv_heads, shared_by * queries, keys))


def attend_passed(
    attention, x, cache, index, *, mask, hypotheses=1, return_attention_scores=False
):
    """Attend to the positions passed: to the blocks of the cache that are begun.

    A step's cost follows the positions passed, not the room. Where scores are asked
    for, all slots are read.

    Args:
        attention: the `MultiHeadAttention`.
        x: (sources * hypotheses, new, width).
        cache: `{"key", "value"}` with the new positions written.
        index: position of the first new one.
        mask: boolean, broadcastable to (sources, heads, hypotheses * new, slots).
        hypotheses: number of adjacent rows for each source.
        return_attention_scores: whether to return the scores as well.

    Returns:
        As `attend_cached`; `None` for scores that are not asked for.
    """
    ends, new = block_ends(max_length_of(cache, hypotheses)), ops.shape(x)[1]

    def read(count):
        return attend_cached(
            attention,
            x,
            {name: blocks[:count] for name, blocks in cache.items()},
            mask=mask[..., : ends[count - 1] * hypotheses],
            bias=_bias(attention, new, ends[count - 1], index, hypotheses),
            hypotheses=hypotheses,
            offset=index,
        )

    if return_attention_scores:
        return read(len(ends))
    begun = begun_blocks(index, new, ends)
    if isinstance(begun, int):
        return read(begun)[0], None
    branches = [lambda count=count: read(count + 1)[0] for count in range(len(ends))]
    return ops.switch(begun - 1, branches), None


def _bias(attention, new, positions, index, hypotheses):
    bias = attention.score_bias(new, positions, index)
    if bias is None or hypotheses == 1:
        return bias
    return ops.repeat(ops.tile(bias, (1, 1, hypotheses, 1)), hypotheses, axis=3)


def scores_by_row(scores, hypotheses, new):
    """Bring scores of sources to one row a hypothesis.

    Args:
        scores: those of the cache and, if any, of the memory, (sources, heads,
            hypotheses * new, slots).
        hypotheses: number of adjacent rows for each source.
        new: number of new positions.

    Returns:
        A tuple of (rows, heads, new, max_length) and (rows, heads, new, source). Of
        the slots at a position a hypothesis sees one; the scores of the others are 0.
    """
    own, *across = (_apart(part, hypotheses, new) for part in scores)
    by_position = (*ops.shape(own)[:3], own.shape[3] // hypotheses, hypotheses)
    return ops.sum(ops.reshape(own, by_position), axis=-1), *across


def _apart(scores, hypotheses, new):
    heads, keys = scores.shape[1], ops.shape(scores)[3]
    scores = ops.reshape(scores, (-1, heads, hypotheses, new, keys))
    scores = ops.transpose(scores, (0, 2, 1, 3, 4))
    return ops.reshape(scores, (-1, heads, new, keys))
