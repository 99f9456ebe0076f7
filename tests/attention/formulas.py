"""Attention in NumPy and float64, written from the paper."""

import numpy as np


def softmax(x):
    """Softmax over the last axis; a row of -inf only gives zeros."""
    highest = x.max(axis=-1, keepdims=True)
    powers = np.exp(x - np.where(np.isfinite(highest), highest, 0.0))
    sums = powers.sum(axis=-1, keepdims=True)
    return np.divide(powers, sums, out=np.zeros_like(powers), where=sums > 0)


def attention(query, key, value, mask=None, bias=0.0, scale=None):
    """Context (batch, query, heads, value_dim) and scores, query by query."""
    query, key, value = (np.asarray(x, "float64") for x in (query, key, value))
    if scale is None:
        scale = query.shape[-1] ** -0.5
    logits = np.einsum("bqhd,bkhd->bhqk", query, key) * scale + bias
    if mask is not None:
        logits = np.where(mask, logits, -np.inf)
    scores = softmax(logits)
    return np.einsum("bhqk,bkhd->bqhd", scores, value), scores


def multi_head_attention(layer, query, value, key=None, mask=None):
    """A layer's output and scores, from its weights."""
    key = value if key is None else key

    def project(x, dense):
        x = np.einsum("btd,dhe->bthe", x, weight(dense.kernel))
        return x if dense.bias is None else x + weight(dense.bias)

    keys, values = project(key, layer.key_dense), project(value, layer.value_dense)
    shared_by = layer.num_heads // layer.num_key_value_heads
    keys, values = (np.repeat(x, shared_by, axis=2) for x in (keys, values))
    context, scores = attention(project(query, layer.query_dense), keys, values, mask)
    output = np.einsum("bqhe,hed->bqd", context, weight(layer.output_dense.kernel))
    if layer.output_dense.bias is not None:
        output = output + weight(layer.output_dense.bias)
    return output, scores


def weight(variable):
    from keras import ops

    return np.asarray(ops.convert_to_numpy(variable), "float64")


def linear_attention(query, key, value, mask=None):
    """Context (batch, query, heads, value_dim) and weights, pair by pair."""

    def features(x):
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))

    query, key, value = (np.asarray(x, "float64") for x in (query, key, value))
    products = np.einsum("bqhd,bkhd->bhqk", features(query), features(key))
    if mask is not None:
        products = np.where(mask, products, 0.0)
    sums = products.sum(axis=-1, keepdims=True)
    weights = np.divide(products, sums, out=np.zeros_like(products), where=sums > 0)
    return np.einsum("bhqk,bkhd->bqhd", weights, value), weights


def additive_attention(query, key, value, scale, mask=None):
    """Context (batch, query, width) and scores, from projected queries and keys."""
    query, key, value = (np.asarray(x, "float64") for x in (query, key, value))
    logits = np.tanh(query[:, :, None] + key[:, None]) @ np.asarray(scale, "float64")
    if mask is not None:
        logits = np.where(mask, logits, -np.inf)
    scores = softmax(logits)
    return scores @ value, scores


def visible(queries, keys, causal=False, window=None, offset=0):
    """What rows may see by their distance, (1, 1, query, key)."""
    distance = np.arange(queries)[:, None] + offset - np.arange(keys)
    seen = np.ones((queries, keys), bool)
    if causal:
        seen &= distance >= 0
    if window is not None:
        seen &= np.abs(distance) < window
    return seen[None, None]
