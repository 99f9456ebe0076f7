"""The sums over keys that linear attention consists of."""

from keras import ops

from keras_transformer.attention.masks import causal_mask
from keras_transformer.attention.query_blocks import QueryBlocks

CHUNK = 64  # positions whose pairs are formed


def positive_features(x):
    """Compute `elu(x) + 1` in float32, without cancelling where `x` is far below 0."""
    x = ops.cast(x, "float32")
    return ops.where(x > 0, x + 1.0, ops.exp(ops.minimum(x, 0.0)))


def shares(products, mask):
    """Divide each row of products of features by its sum, over allowed keys."""
    if mask is not None:
        products = products * ops.cast(mask, products.dtype)
    return _divided(products, ops.sum(products, axis=-1, keepdims=True))


def with_ones(value):
    """Append a value of 1, in float32: its weighted sum is the sum of the weights."""
    value = ops.cast(value, "float32")
    return ops.concatenate([value, ops.ones_like(value[..., :1])], axis=-1)


def weighted_mean(sums):
    """Divide the sums of values by that of the ones."""
    return _divided(sums[..., :-1], sums[..., -1:])


def _divided(x, total):
    empty = total == 0
    return ops.where(empty, 0.0, x / ops.where(empty, 1.0, total))


def sums_of_all(query, key, value):
    """Sum over all keys.

    Args:
        query: features (batch, heads, query, head_dim).
        key: features (batch, heads, key, head_dim), zeros where masked.
        value: (batch, heads, key, value_dim).

    Returns:
        (batch, heads, query, value_dim).
    """
    state = ops.einsum("bhkd,bhkm->bhdm", key, value)
    return ops.einsum("bhqd,bhdm->bhqm", query, state)


def causal_sums(query, key, value):
    """Sum over the keys up to each query's row.

    What stands in chunks before is one state a chunk; only inside of a chunk are pairs
    formed. Arguments and result are those of `sums_of_all`.
    """
    length = ops.shape(query)[2]
    chunks = QueryBlocks(length, length, longest=CHUNK)
    query = chunks.split(query)  # (chunks, batch, heads, size, head_dim)
    key, value = (chunks.split(_of_length(x, length)) for x in (key, value))
    states = ops.einsum("nbhkd,nbhkm->nbhdm", key, value)
    before = ops.cumsum(states, axis=0)[:-1]
    before = ops.concatenate([ops.zeros_like(states[:1]), before], axis=0)
    pairs = ops.einsum("nbhqd,nbhkd->nbhqk", query, key)
    pairs = pairs * ops.cast(causal_mask(chunks.size, chunks.size), pairs.dtype)
    sums = ops.einsum("nbhqk,nbhkm->nbhqm", pairs, value)
    return chunks.joined(sums + ops.einsum("nbhqd,nbhdm->nbhqm", query, before))


def _of_length(x, length):
    """Cut or fill keys to the number of queries: none sees a key behind."""
    x = x[:, :, :length]
    batch, heads, keys, last = ops.shape(x)
    return ops.concatenate(
        [x, ops.zeros((batch, heads, length - keys, last), x.dtype)], axis=2
    )
