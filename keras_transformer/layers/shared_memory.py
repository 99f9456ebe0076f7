"""Cross-attention of several hypotheses to the one source that they share."""

from keras import ops


def attend_shared(
    attention,
    around,
    x,
    cross,
    *,
    mask=None,
    hypotheses=1,
    return_attention_scores=False,
):
    """Attend to keys and values without a copy of them for each hypothesis.

    Attention treats each query by itself: the hypotheses of a source can stand side by
    side as further queries.

    Args:
        attention: the `MultiHeadAttention`.
        around: the `Residual` around it.
        x: (sources * hypotheses, new, width), the hypotheses of a source adjacent.
        cross: `{"key", "value"}` of the memory, (sources, source, heads, head_dim).
        mask: boolean, broadcastable to (sources, heads, 1, source).
        hypotheses: number of hypotheses of each source.
        return_attention_scores: whether to return the scores as well.

    Returns:
        A tuple of the new `x` and, if asked for, the scores (sources * hypotheses,
        heads, new, source).
    """
    rows, new, width = ops.shape(x)[0], x.shape[1], x.shape[2]
    x = ops.reshape(x, (-1, hypotheses * new, width))
    attended = attention.attend(
        around.enter(x),
        cross["key"],
        cross["value"],
        mask=mask,
        return_attention_scores=return_attention_scores,
    )
    update, *scores = attended if return_attention_scores else (attended,)
    x = ops.reshape(around(x, update), (rows, new, width))
    return x, *(_by_hypothesis(one, hypotheses, new) for one in scores)


def _by_hypothesis(scores, hypotheses, new):
    """Bring (sources, heads, hypotheses * new, source) to one row a hypothesis."""
    heads, source = scores.shape[1], ops.shape(scores)[3]
    scores = ops.reshape(scores, (-1, heads, hypotheses, new, source))
    scores = ops.transpose(scores, (0, 2, 1, 3, 4))
    return ops.reshape(scores, (-1, heads, new, source))
