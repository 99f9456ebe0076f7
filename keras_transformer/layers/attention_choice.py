"""What goes together with which attention function."""

from keras_transformer.argument_checks import check_choice
from keras_transformer.attention import KERNELS


def check_attention(attention, position, dropout, name="dropout"):
    """Check the name of an attention function, and what it is used with.

    Args:
        attention: the name.
        position: a position layer or `None`.
        dropout: share of the scores that is dropped.
        name: the argument of the dropout, for the error.

    Raises:
        ValueError: for an unknown name; for linear attention with dropout, or with a
            position that adds to the scores.
    """
    check_choice("attention", attention, KERNELS)
    if attention != "linear":
        return attention
    if dropout:
        raise ValueError(
            f'`{name}` must be set to 0 with `attention="linear"`, which has no scores '
            f"to drop. Received: {dropout}."
        )
    if hasattr(position, "bias"):
        raise ValueError(
            '`position` must not have a `bias` with `attention="linear"`, which has no '
            f"scores to add to. Received: {position!r}."
        )
    return attention


def check_bias(attention, bias):
    """Refuse an `attention_bias` where there are no scores to add to."""
    if attention == "linear" and bias is not None:
        raise ValueError(
            '`attention_bias` must be None with `attention="linear"`, which has no '
            f"scores to add to. Received: shape {tuple(bias.shape)}."
        )


def across(attention):
    """Name the function of cross-attention in a block with this self-attention.

    The memory is read with a softmax, also where self-attention is linear.
    """
    return "dot_product" if attention == "linear" else attention
