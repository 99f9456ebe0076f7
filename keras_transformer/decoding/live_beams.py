"""The live hypotheses of a beam search."""

from typing import Any, NamedTuple

from keras import ops

from keras_transformer.decoding.hypothesis_pool import repeat_hypothesis
from keras_transformer.decoding.scoring import IMPOSSIBLE


class Beams(NamedTuple):
    """Live hypotheses, best first; a log-probability of -inf marks a free place."""

    ids: Any  # (batch, num_beams, max_length)
    log_probs: Any  # (batch, num_beams)


def start_beams(prompt, count):
    """The prefix in the first of `count` places; the others are free.

    Were all alive, the beams would stay `count` copies of one hypothesis.
    """
    batch = ops.shape(prompt.ids)[0]
    is_first = ops.arange(count, dtype="int32") == 0
    log_probs = ops.cast(ops.where(is_first, 0.0, IMPOSSIBLE), "float32")
    return Beams(
        repeat_hypothesis(prompt.ids, count),
        ops.broadcast_to(log_probs[None, :], (batch, count)),
    )


def extend_where(rows, extended, beams):
    """`extended` for the sources where `rows` `(batch,)` is True, else `beams`."""
    return Beams(
        ops.where(rows[:, None, None], extended.ids, beams.ids),
        ops.where(rows[:, None], extended.log_probs, beams.log_probs),
    )
