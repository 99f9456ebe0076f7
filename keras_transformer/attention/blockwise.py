"""Dot-product attention in memory linear in the length."""

import math

from keras import ops

from keras_transformer.attention.block_attention import attend_by_block
from keras_transformer.attention.distance_bias import distance_row
from keras_transformer.attention.dot_product import dot_product_attention
from keras_transformer.attention.query_blocks import QueryBlocks
from keras_transformer.attention.seeded_block import draw_number

BLOCK = 128  # queries at a time


def blockwise_attention(
    query,
    key,
    value,
    *,
    mask=None,
    bias=None,
    bias_at=None,
    causal=False,
    window=None,
    offset=0,
    scale=None,
    dropout=0.0,
    seed=None,
    return_scores=False,
):
    """Attend as `dot_product_attention`, block by block of queries.

    No tensor has both lengths as axes, forward or backward: the scores of a block are
    computed once more for its gradient. With a `window`, a block reads only the keys
    in its reach, so that time too grows with the length and not with its square.

    A mask or bias of all pairs has both lengths itself; so have scores that are asked
    for. Dropout is as frequent as in `dot_product_attention`, but drops other scores.
    There are first derivatives only; asking for a second one raises
    `NotImplementedError`.

    Args:
        query: (batch, query, heads, head_dim), floating point.
        key: (batch, key, heads, head_dim).
        value: (batch, key, heads, value_dim).
        mask: as for `dot_product_attention`, like all others.
        bias: added to the scaled scores.
        bias_at: a bias by the distance of query and key.
        causal: whether a query sees only keys up to its own row.
        window: a query sees only keys at a distance of rows below it.
        offset: row among the keys at which the first query stands.
        scale: factor of the query, 1/sqrt(head_dim) if not given.
        dropout: share of the scores that is dropped.
        seed: seed of the dropout.
        return_scores: whether to return the scores as well.

    Returns:
        As `dot_product_attention`.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer.attention import blockwise_attention
        >>> x = np.ones((1, 300, 2, 4), "float32")
        >>> tuple(blockwise_attention(x, x, x, causal=True).shape)
        (1, 300, 2, 4)

    References:
        - Rabe and Staats, 2021, "Self-attention Does Not Need O(n^2) Memory".
        - Dao et al., 2022, "FlashAttention".
    """
    queries, keys = ops.shape(query)[1], ops.shape(key)[1]
    few = isinstance(queries, int) and queries <= BLOCK
    if return_scores or few or (isinstance(keys, int) and keys == 0):
        return dot_product_attention(
            query, key, value, mask=mask, bias=bias, bias_at=bias_at, causal=causal,
            window=window, offset=offset, scale=scale, dropout=dropout, seed=seed,
            return_scores=return_scores,
        )  # fmt: skip
    blocks = QueryBlocks(
        queries,
        keys,
        longest=BLOCK,
        causal=causal,
        window=window,
        offset=offset,
        all_keys=bias is not None,
    )
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    query = ops.transpose(query * ops.cast(scale, query.dtype), (0, 2, 1, 3))
    tensors = {
        "query": blocks.split(query),
        "key": ops.transpose(key, (0, 2, 1, 3)),
        "value": ops.transpose(value, (0, 2, 1, 3)),
    }
    batch, heads = ops.shape(query)[:2]
    if bias is not None:
        tensors["bias"] = blocks.split_pairs(bias, batch, heads)
    if bias_at is not None:
        row = distance_row(bias_at, queries, keys, offset)
        tensors["row"] = blocks.extended_row(row)
    contexts = attend_by_block(
        blocks,
        tensors,
        mask=blocks.split_pairs(mask, batch, heads),
        dropout=dropout,
        number=draw_number(seed) if dropout else None,
    )
    return ops.transpose(blocks.joined(contexts), (0, 2, 1, 3))
