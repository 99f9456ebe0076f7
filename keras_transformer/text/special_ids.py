"""The ids that frame and pad sentences."""

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class SpecialIds:
    """Ids of padding, sentence end and sentence start.

    Attributes:
        pad: Fills rows up to the length of the batch; always 0.
        end: Ends each source and each row of labels.
        start: Begins each target.

    Raises:
        ValueError: Negative ids, or two of the same.
    """

    end: int = 1
    start: int = 2
    pad: int = 0

    def __post_init__(self):
        """Checks the ids."""
        values = (self.pad, self.end, self.start)
        whole = all(type(value) is int and value >= 0 for value in values)
        if not whole or len(set(values)) < 3:
            raise ValueError(
                "`end_id` and `start_id` must be two different ids above the "
                f"padding id 0. Received: end_id={self.end!r}, "
                f"start_id={self.start!r}."
            )

    def check_tokenizer(self, name: str, tokenizer: Any) -> None:
        """Refuses a tokenizer whose output cannot be framed by these ids.

        Args:
            name: Name of the argument that holds the tokenizer.
            tokenizer: The tokenizer.

        Raises:
            TypeError: An object without a method `tokenize`.
            ValueError: A tokenizer that pads, truncates, or adds ids of its own.
        """
        if not callable(getattr(tokenizer, "tokenize", None)):
            raise TypeError(
                f"`{name}` must have a method `tokenize` that maps a list of strings "
                f"to lists of ids. Received: {tokenizer!r}."
            )
        length = getattr(tokenizer, "sequence_length", None)
        if length is not None:
            raise ValueError(
                f"`{name}` must not pad or truncate (sequence_length=None). "
                f"Received: sequence_length={length}."
            )
        for option in ("add_bos", "add_eos"):  # those of KerasHub's SentencePiece
            if getattr(tokenizer, option, False):
                raise ValueError(
                    f"`{name}` must not add start or end, which stand around its ids "
                    f"already ({option}=False). Received: {option}=True."
                )

    def check_text_ids(self, name: str, tokenizer: Any, ids: np.ndarray) -> None:
        """Refuses special ids that stand for text, or outside the vocabulary.

        Args:
            name: Name of the argument that holds the tokenizer.
            tokenizer: The tokenizer.
            ids: Ids of ordinary text.

        Raises:
            ValueError: One of the special ids, or a negative one, is among `ids`, or
                the vocabulary is too small for the special ids.
        """
        if hasattr(tokenizer, "vocabulary_size"):
            size = tokenizer.vocabulary_size()
            if size <= max(astuple(self)):
                raise ValueError(
                    f"`{name}` must have a vocabulary that holds the special ids "
                    f"{astuple(self)}. Received: {size} ids."
                )
        for kind in ("pad", "end", "start"):
            value = getattr(self, kind)
            count = int((ids == value).sum())
            if count:
                raise ValueError(
                    f"`{name}` must keep the {kind} id {value} for itself. Received: "
                    f"{count} pieces of text with that id. Choose another id, or turn "
                    "off what adds it (such as `add_bos`, `add_eos`)."
                )
        if ids.size and ids.min() < 0:
            raise ValueError(
                f"`{name}` must give ids >= 0. Received: {int(ids.min())}."
            )
