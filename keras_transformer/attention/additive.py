"""Additive attention, which came before the dot product."""

from keras import ops

from keras_transformer.attention.dot_product import silenced, softmax_scores
from keras_transformer.attention.dropout import byte_dropout


def additive_attention(
    query,
    key,
    value,
    scale,
    *,
    mask=None,
    dropout=0.0,
    seed=None,
    return_scores=False,
):
    """Attend by the sum of query and key, behind a tanh.

    ```
    s_ij = scale · tanh(q_i + k_j),   o_i = sum_j softmax_j(s_i)_j v_j
    ```

    The sums are one tensor of (batch, query, key, units). The softmax runs in float32.
    A query that may attend to nothing gets a zero context and zero scores.

    Args:
        query: (batch, query, units), projected, floating point.
        key: (batch, key, units), projected.
        value: (batch, key, width).
        scale: (units,), the v of the paper.
        mask: boolean, broadcastable to (batch, query, key), True = may attend.
        dropout: share of the scores that is dropped, in [0, 1). Give 0 at inference.
        seed: `keras.random.SeedGenerator` or integer for the dropout.
        return_scores: whether to return the scores (before dropout) as well.

    Returns:
        The context (batch, query, width), or the pair of it and the scores (batch,
        query, key).

    Examples:
        >>> import numpy as np
        >>> from keras_transformer.attention import additive_attention
        >>> x = np.ones((1, 3, 4), "float32")
        >>> tuple(additive_attention(x, x, x, np.ones(4, "float32")).shape)
        (1, 3, 4)

    Reference: Bahdanau et al., 2015, "Neural Machine Translation by Jointly Learning to
    Align and Translate", appendix A.1.2.
    """
    sums = ops.tanh(query[:, :, None] + key[:, None])  # (batch, query, key, units)
    logits = ops.cast(ops.matmul(sums, scale[:, None])[..., 0], "float32")
    scores = ops.cast(softmax_scores(logits, mask), query.dtype)
    context = ops.matmul(byte_dropout(scores, dropout, seed), value)
    context = silenced(context, mask)
    return (context, silenced(scores, mask)) if return_scores else context
