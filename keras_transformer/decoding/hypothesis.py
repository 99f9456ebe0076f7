"""A translation with its scores."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """One translation of a sentence.

    Attributes:
        text: the translation.
        score: its log-probability, divided by the length penalty.
        log_probability: sum of the log-probabilities of its tokens, end included.
        length: number of its tokens, end included.
        finished: False if it was cut at the limit of length.
    """

    text: str
    score: float = 0.0
    log_probability: float = 0.0
    length: int = 0
    finished: bool = True
