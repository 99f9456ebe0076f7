"""Token ids of many pairs in flat arrays."""

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

CHUNK = 8192  # texts per call of a tokenizer


class EncodedTexts:
    """Token ids of many texts, end to end in one array.

    Attributes:
        ids: All ids, int32, shape (ids,).
        starts: Where each text begins in `ids`, int64, shape (texts,).
        lengths: Number of ids of each text, int64, shape (texts,).
    """

    def __init__(self, ids: np.ndarray, lengths: np.ndarray):
        self.ids = ids
        self.lengths = lengths
        self.starts = np.cumsum(lengths) - lengths

    @classmethod
    def from_texts(cls, texts: Sequence[str], tokenizer: Any) -> "EncodedTexts":
        """Tokenizes the texts in large batches.

        Args:
            texts: The strings.
            tokenizer: A KerasHub tokenizer, or any object whose `tokenize` maps a
                list of strings to lists of ids.

        Returns:
            The encoded texts.
        """
        chunks = [_encode(chunk, tokenizer) for chunk in _chunks(texts)]
        if not chunks:
            return cls(np.zeros(0, "int32"), np.zeros(0, "int64"))
        ids, lengths = zip(*chunks, strict=True)
        return cls(np.concatenate(ids), np.concatenate(lengths))

    @cached_property
    def digest(self) -> str:
        """A hash of all ids and of where texts end."""
        found = hashlib.blake2b(self.lengths.tobytes(), digest_size=8)
        found.update(self.ids.tobytes())
        return found.hexdigest()

    def __len__(self) -> int:
        """Gives the number of texts."""
        return len(self.lengths)

    def dense(self, rows: np.ndarray, shape: tuple[int, int], offset: int = 0):
        """Copies texts into the rows of an array of zeros.

        Args:
            rows: Indices of texts, at most `shape[0]`.
            shape: Shape of the result.
            offset: Column at which each text begins.

        Returns:
            An int32 array and the column after the last id of each text.
        """
        result = np.zeros(shape, "int32")
        lengths = self.lengths[rows]
        row = np.repeat(np.arange(len(rows)), lengths)
        column = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        result[row, column + offset] = self.ids[
            np.repeat(self.starts[rows], lengths) + column
        ]
        return result, lengths + offset


def _chunks(texts: Sequence[str]) -> Iterator[list[str]]:
    iterator = iter(texts)
    while chunk := list(islice(iterator, CHUNK)):
        yield chunk


def _encode(texts: list[str], tokenizer: Any) -> tuple[np.ndarray, np.ndarray]:
    encoded = _with_model(tokenizer, "tokenize", texts)
    if hasattr(encoded, "row_lengths"):  # a tf.RaggedTensor
        ids, lengths = encoded.values.numpy(), encoded.row_lengths().numpy()
    else:
        rows = [np.asarray(row) for row in encoded]
        lengths = np.array([len(row) for row in rows])
        ids = np.concatenate([row for row in rows if len(row)] or [np.zeros(0, int)])
    if not np.issubdtype(ids.dtype, np.integer):
        raise ValueError(
            f"`tokenizer` must give integer ids (dtype='int32'). Received: {ids.dtype}."
        )
    return ids.astype("int32"), lengths.astype("int64")


def decode_texts(ids: list[list[int]], tokenizer: Any) -> list[str]:
    """Turns lists of ids, without special ones, into strings."""
    if not ids:
        return []
    return [str(text) for text in _with_model(tokenizer, "detokenize", ids)]


def _with_model(tokenizer: Any, method: str, values: list) -> Any:
    try:
        return getattr(tokenizer, method)(values)
    except Exception as error:
        # `keras.utils.set_random_seed` makes TensorFlow drop the model that older
        # SentencePiece tokenizers of KerasHub keep in it; they can put it back.
        lost = type(error).__name__ == "NotFoundError" and hasattr(tokenizer, "proto")
        if not lost:
            raise
    tokenizer.set_proto(tokenizer.proto)
    return getattr(tokenizer, method)(values)
