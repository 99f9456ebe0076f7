"""Attention whose cost is linear in the length."""

from keras import ops

from keras_transformer.attention.dot_product import attend_by_head
from keras_transformer.attention.linear_sums import (
    causal_sums,
    positive_features,
    shares,
    sums_of_all,
    weighted_mean,
    with_ones,
)
from keras_transformer.attention.masks import (
    as_four_axes,
    combine_masks,
    row_mask,
)


def linear_attention(
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
    """Attend with a product of features instead of the softmax of a product.

    ```
    o_i = sum_j f(q_i)·f(k_j) v_j / sum_j f(q_i)·f(k_j),   f(x) = elu(x) + 1
        = f(q_i) S / f(q_i) z,   S = sum_j f(k_j) v_j^T,   z = sum_j f(k_j)
    ```

    The sums over keys are made once for all queries, or chunk by chunk if causal, in
    float32. Masks of keys keep that form. A mask of all pairs, a window, an offset and
    scores that are asked for take the first form, quadratic in the length, with the
    same result.

    Args:
        query: (batch, query, heads, head_dim), floating point.
        key: (batch, key, heads, head_dim).
        value: (batch, key, heads, value_dim).
        mask: boolean, broadcastable to (batch, heads, query, key), True = may attend.
        bias: must be `None`, since no score is there to add to; so must `bias_at`.
        bias_at: must be `None`.
        causal: whether a query sees only keys up to its own row.
        window: a query sees only keys at a distance of rows below it.
        offset: row among the keys at which the first query stands.
        scale: factor of the query before f, 1 if not given.
        dropout: must be 0: no score is there to drop.
        seed: not used.
        return_scores: whether to return the weights, which sum to 1, as well.

    Returns:
        As `dot_product_attention`. A query that may attend to nothing gets zeros.

    Raises:
        ValueError: for a bias or dropout.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer.attention import linear_attention
        >>> x = np.ones((1, 300, 2, 4), "float32")
        >>> tuple(linear_attention(x, x, x, causal=True).shape)
        (1, 300, 2, 4)

    Reference: Katharopoulos et al., 2020, "Transformers are RNNs: Fast Autoregressive
    Transformers with Linear Attention".
    """
    _check(bias, bias_at, dropout)
    dtype, lengths = value.dtype, (ops.shape(query)[1], ops.shape(key)[1])
    query = query if scale is None else query * ops.cast(scale, query.dtype)
    query, key, value = (ops.transpose(x, (0, 2, 1, 3)) for x in (query, key, value))
    query, key = positive_features(query), positive_features(key)
    mask = None if mask is None else as_four_axes(mask)
    of_keys = mask is None or mask.shape[2] == 1
    from_start = isinstance(offset, int) and offset == 0
    if of_keys and window is None and not return_scores and (from_start or not causal):
        if mask is not None:
            key = key * ops.cast(ops.transpose(mask, (0, 1, 3, 2)), key.dtype)
        sums = (causal_sums if causal else sums_of_all)(query, key, with_ones(value))
        context = weighted_mean(sums)
    else:
        context, scores = attend_by_head(
            query,
            ops.transpose(key, (0, 1, 3, 2)),
            ops.cast(value, "float32"),
            mask=combine_masks(mask, row_mask(*lengths, offset, causal, window)),
            as_scores=shares,
        )
    context = ops.cast(ops.transpose(context, (0, 2, 1, 3)), dtype)
    return (context, ops.cast(scores, dtype)) if return_scores else context


def linear_attention_step(query, key, value, state=None):
    """Attend from one position to itself and those before, of which only sums are kept.

    ```
    S_i = S_{i-1} + f(k_i) v_i^T,   z_i = z_{i-1} + f(k_i)
    o_i = f(q_i) S_i / f(q_i) z_i
    ```

    Args:
        query: (batch, heads, head_dim).
        key: (batch, heads, head_dim).
        value: (batch, heads, value_dim).
        state: of the step before, `None` at the first.

    Returns:
        The context (batch, heads, value_dim), and the state (batch, heads, head_dim,
        value_dim + 1), float32: S, and z as its last column.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer.attention import linear_attention_step
        >>> x = np.ones((1, 2, 4), "float32")
        >>> context, state = linear_attention_step(x, x, x)
        >>> tuple(context.shape), tuple(state.shape)
        ((1, 2, 4), (1, 2, 4, 5))

    Reference: Katharopoulos et al., 2020, section 3.4.
    """
    new = positive_features(key)[..., None] * with_ones(value)[..., None, :]
    state = new if state is None else state + new
    sums = ops.einsum("bhd,bhdm->bhm", positive_features(query), state)
    return ops.cast(weighted_mean(sums), value.dtype), state


def _check(bias, bias_at, dropout):
    for name, x in (("bias", bias), ("bias_at", bias_at)):
        if x is not None:
            received = f"shape {tuple(x.shape)}" if name == "bias" else repr(x)
            raise ValueError(
                f"`{name}` must be None for linear attention, which has no scores to "
                f"add to. Received: {received}."
            )
    if dropout:
        raise ValueError(
            "`dropout` must be 0 for linear attention, which has no scores to drop. "
            f"Received: {dropout}."
        )
