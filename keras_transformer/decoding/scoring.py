"""Log-probabilities and the length penalty."""

from keras import ops

IMPOSSIBLE = float("-inf")


def log_probabilities(chosen, logits):
    """Log-softmax over the last axis, of some entries only.

    NaN becomes `-inf`. A row that holds a NaN or `+inf`, or nothing but `-inf`, has
    no distribution: all its entries come out as `-inf`.

    Args:
        chosen: float32 `(rows, count)`, entries of `logits`.
        logits: float32 `(rows, vocabulary)`.

    Returns:
        float32 `(rows, count)`.
    """
    largest = ops.max(logits, axis=-1, keepdims=True)
    total = ops.sum(ops.exp(logits - largest), axis=-1, keepdims=True)
    log_probs = chosen - largest - ops.log(total)
    return ops.where(ops.isnan(log_probs), IMPOSSIBLE, log_probs)


def length_penalty(length, alpha):
    """GNMT's divisor of a log-probability: `((5 + length) / 6) ** alpha`.

    Args:
        length: int or integer tensor, the number of generated tokens, end included.
        alpha: float. 0 gives 1 at every length, a positive one favours long
            hypotheses, a negative one short ones.

    Returns:
        A float32 tensor of the shape of `length`.

    Examples:
        >>> float(length_penalty(7, 1.0))
        2.0

    Reference:
        Wu et al., 2016, "Google's Neural Machine Translation System", section 7.
    """
    return ops.power((5.0 + ops.cast(length, "float32")) / 6.0, float(alpha))


def best_reachable_score(log_probs, next_length, longest, alpha):
    """Upper bound of the score with which a live hypothesis can still finish.

    A log-probability is at most 0 and never rises, so the bound keeps today's and
    divides it by the largest penalty between `next_length` and `longest`. The
    penalty is monotonic in the length: the largest stands at one of the two ends,
    at the far one for a positive `alpha`, at the near one for a negative `alpha`.
    """
    near, far = length_penalty(next_length, alpha), length_penalty(longest, alpha)
    return log_probs / ops.maximum(near, far)
