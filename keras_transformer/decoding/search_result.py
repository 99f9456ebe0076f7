"""The result that every search returns."""

from typing import Any, NamedTuple


class SearchResult(NamedTuple):
    """Hypotheses found for a batch of sources, the best first.

    Places for which no hypothesis exists (a search found fewer than `n_best`, or
    the step function gave only `-inf` or NaN) hold the prefix followed by padding,
    `-inf` in `log_probs` and `scores`, 0 in `lengths` and False in `finished`.

    Attributes:
        ids: int32 `(batch, n_best, max_length)`. Start token or forced prefix, then
            the generated tokens, then padding.
        log_probs: float32 `(batch, n_best)`. Sum of the log-probabilities of the
            generated tokens, the end included. The tokens of a forced prefix are
            given, not generated: they add nothing.
        scores: float32 `(batch, n_best)`. `log_probs` divided by the length penalty.
            Finished hypotheses come before cut ones; within each of the two groups
            the scores descend.
        lengths: int32 `(batch, n_best)`. Number of generated tokens: the end counts,
            the start token or forced prefix doesn't.
        finished: bool `(batch, n_best)`. False where a hypothesis was cut at
            `max_length` before its end token, and in empty places.
    """

    ids: Any
    log_probs: Any
    scores: Any
    lengths: Any
    finished: Any
