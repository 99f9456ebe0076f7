"""Scaled dot-product attention, the equation of the paper."""

import functools
import math

import keras
from keras import ops

from keras_transformer.attention.dropout import byte_dropout
from keras_transformer.attention.masks import combine_masks, row_mask

# Added to the scores of forbidden keys. Far below any score, and finite: a row
# without any allowed key stays free of NaN, forward and backward.
FORBIDDEN = -1e30
# What a bias can lower scores to, -inf too: below any other, far above forbidden ones.
LOWEST = -1e28


def dot_product_attention(
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
    """Attend from each query to all keys, and average the values.

    ```
    Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V
    ```

    The query is scaled before the product, and the softmax runs in float32. A query
    that may attend to nothing gets a zero context and zero scores, on every backend
    and in every precision, with finite gradients.

    Args:
        query: (batch, query, heads, head_dim), floating point.
        key: (batch, key, heads, head_dim).
        value: (batch, key, heads, value_dim).
        mask: boolean, broadcastable to (batch, heads, query, key), True = may attend.
        bias: added to the scaled scores, broadcastable to (batch, heads, query, key).
            -inf is as low as scores get, but is no mask: where all allowed keys of a
            query have it, they are alike.
        bias_at: function of (number of queries, number of keys, offset) that gives
            such a bias, where it is a function of the distance between them.
        causal: whether a query sees only keys up to its own row.
        window: a query sees only keys at a distance of rows below it.
        offset: row among the keys at which the first query stands, an integer or
            scalar tensor.
        scale: factor of the query, 1/sqrt(head_dim) if not given.
        dropout: share of the scores that is dropped, in [0, 1). Give 0 at inference.
        seed: `keras.random.SeedGenerator` or integer for the dropout.
        return_scores: whether to return the scores (before dropout) as well.

    Returns:
        The context (batch, query, heads, value_dim) in the query's dtype, or the pair
        of the context and the scores (batch, heads, query, key).

    Examples:
        >>> import numpy as np
        >>> from keras_transformer.attention import dot_product_attention
        >>> x = np.ones((1, 3, 2, 4), "float32")
        >>> tuple(dot_product_attention(x, x, x).shape)
        (1, 3, 2, 4)

    Reference: Vaswani et al., 2017, "Attention Is All You Need", equation 1.
    """
    if scale is None:
        scale = 1.0 / math.sqrt(query.shape[-1])
    query = query * ops.cast(scale, query.dtype)
    lengths = ops.shape(query)[1], ops.shape(key)[1]
    mask = combine_masks(mask, row_mask(*lengths, offset, causal, window))
    if bias_at is not None:
        bias = added_biases(bias, bias_at(*lengths, offset))
    if _fused_is_exact(query, value, bias, dropout, return_scores):
        return _fused(query, key, value, mask)
    context, scores = attend_by_head(
        ops.transpose(query, (0, 2, 1, 3)),
        ops.transpose(key, (0, 2, 3, 1)),
        ops.transpose(value, (0, 2, 1, 3)),
        mask=mask,
        bias=bias,
        dropout=dropout,
        seed=seed,
    )
    context = ops.transpose(context, (0, 2, 1, 3))  # (batch, query, heads, value_dim)
    return (context, scores) if return_scores else context


def softmax_scores(logits, mask):
    """Turn logits into scores: each row's softmax over allowed keys."""
    if mask is not None:
        # Tensors, since numbers would get the precision of `keras.config.floatx`.
        nothing, forbidden = (
            ops.convert_to_tensor(x, "float32") for x in (0.0, FORBIDDEN)
        )
        logits = logits + ops.where(mask, nothing, forbidden)
    return softmax(logits)


def biased(logits, bias):
    """Add a bias to logits, both float32, and keep them finite below."""
    return ops.maximum(logits + ops.cast(bias, "float32"), LOWEST)


def added_biases(one, other):
    """Add two biases of the scores in float32, each of which may be `None`."""
    if one is None or other is None:
        return other if one is None else one
    return ops.cast(one, "float32") + ops.cast(other, "float32")


def attend_by_head(
    query,
    key,
    value,
    *,
    mask=None,
    bias=None,
    dropout=0.0,
    seed=None,
    as_scores=softmax_scores,
):
    """Attend with axes in the order of the products: nothing needs transposing.

    Keys and values may come in blocks, which are never put together.

    Args:
        query: (batch, heads, query, head_dim), scaled already.
        key: (batch, heads, head_dim, key), or a list of such blocks.
        value: (batch, heads, key, value_dim), or a list of as many blocks.
        mask: as for `dot_product_attention`, like the others.
        bias: added to the scores.
        dropout: share of the scores that is dropped.
        seed: seed of the dropout.
        as_scores: function of the logits, float32, and the mask that gives the scores.

    Returns:
        The context (batch, heads, query, value_dim), and the scores (batch, heads,
        query, key) before dropout.
    """
    keys = key if isinstance(key, list) else [key]
    values = value if isinstance(value, list) else [value]
    logits = ops.cast(
        _concatenated([ops.matmul(query, key) for key in keys]), "float32"
    )
    if bias is not None:
        logits = biased(logits, bias)
    scores = ops.cast(as_scores(logits, mask), query.dtype)
    kept = byte_dropout(scores, dropout, seed)
    sizes = [key.shape[3] for key in keys]
    parts = zip(_split(kept, sizes), values, strict=True)
    contexts = [ops.matmul(part, value) for part, value in parts]
    context = functools.reduce(ops.add, contexts)
    return silenced(context, mask), silenced(scores, mask)


def _concatenated(blocks):
    return blocks[0] if len(blocks) == 1 else ops.concatenate(blocks, axis=-1)


def _split(scores, sizes):
    if len(sizes) == 1:
        return [scores]
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes) - 1)]
    return ops.split(scores, ends, axis=-1)


def softmax(logits):
    """Softmax over the last axis, of one value too."""
    if logits.shape[-1] == 1:  # `ops.softmax` would warn of a sure result
        return ops.exp(logits - logits)
    return ops.softmax(logits, axis=-1)


def _fused_is_exact(query, value, bias, dropout, return_scores):
    """Whether the backend has one kernel for just this case.

    JAX has none for float16 on a CPU.
    """
    backend = keras.backend.backend()
    return (
        backend != "tensorflow"
        and not (backend == "jax" and query.dtype == "float16")
        and bias is None
        and not dropout
        and not return_scores
        and query.shape[-1] == value.shape[-1]
    )


def _fused(query, key, value, mask):
    if mask is None:
        return ops.dot_product_attention(query, key, value, scale=1.0)
    alive = ops.any(mask, axis=-1, keepdims=True)  # (batch, heads, query, 1)
    mask = ops.logical_or(mask, ops.logical_not(alive))
    context = ops.dot_product_attention(query, key, value, mask=mask, scale=1.0)
    return context * ops.cast(ops.transpose(alive, (0, 2, 1, 3)), context.dtype)


def silenced(x, mask):
    """Set the rows of queries without any allowed key to zero.

    Args:
        x: (..., query, any).
        mask: boolean (..., query, key), any axis may be 1; or `None`.
    """
    if mask is None:
        return x
    return x * ops.cast(ops.any(mask, axis=-1, keepdims=True), x.dtype)
