"""A translation with its scores."""

from dataclasses import dataclass

import numpy as np


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


def read_hypotheses(result, special_ids, decode):
    """Turn a search's result into texts with their scores.

    Args:
        result: the fields of a `SearchResult` as NumPy arrays.
        special_ids: an object with the ids `pad`, `end` and `start`, which no text has.
        decode: a function of lists of ids to strings.

    Returns:
        For each row a list of `Hypothesis`, the best first; none where the search
        found nothing.
    """
    special = [special_ids.pad, special_ids.start, special_ids.end]
    rows, places = np.nonzero(np.isfinite(result["log_probs"]))
    chosen = result["ids"][rows, places]
    texts = decode([row[~np.isin(row, special)].tolist() for row in chosen])
    hypotheses = [[] for _ in result["ids"]]
    for text, row, place in zip(texts, rows, places, strict=True):
        hypotheses[row].append(
            Hypothesis(
                text=text,
                score=float(result["scores"][row, place]),
                log_probability=float(result["log_probs"][row, place]),
                length=int(result["lengths"][row, place]),
                finished=bool(result["finished"][row, place]),
            )
        )
    return hypotheses
