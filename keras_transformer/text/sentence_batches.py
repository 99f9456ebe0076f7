"""Batches of sentences to translate, by length."""

from typing import Any, NamedTuple

import numpy as np

from keras_transformer.text.corpus import check_unicode
from keras_transformer.text.encoded_pairs import EncodedTexts

SHORTEST = 16  # positions of the smallest batches


def check_sentences(name, sentences):
    """Return a list of strings, or raise an error that names the wrong one."""
    return list(checked_sentences(name, sentences))


def checked_sentences(name, sentences):
    """Yield strings, or raise an error that names the wrong one."""
    if isinstance(sentences, str | bytes) or not hasattr(sentences, "__iter__"):
        raise TypeError(f"`{name}` must be a list of strings. Received: {sentences!r}.")
    for number, sentence in enumerate(sentences):
        if not isinstance(sentence, str):
            raise TypeError(
                f"`{name}` must be a list of strings. "
                f"Received: {sentence!r} at index {number}."
            )
        check_unicode(name, number, sentence)
        yield sentence


def _check_lengths(lengths, max_length, first=0, name="sentences"):
    if max_length is None or not len(lengths) or lengths.max() < max_length:
        return
    number = int(np.argmax(lengths))
    raise ValueError(
        f"`{name}` must have at most {max_length - 1} tokens and the end each, for "
        f"`max_source_length` or the model's positions. "
        f"Received: {lengths[number]} tokens at index {first + number}."
    )


class SentenceBatch(NamedTuple):
    """Some sentences of about the same length.

    Attributes:
        rows: which sentences they are, int (sentences,).
        ids: int32 (batch, source), the sentences' ids, their end and padding. Further
            rows, up to the batch size, repeat the last sentence.
    """

    rows: np.ndarray
    ids: np.ndarray


class SentenceBatches:
    """Tokenize sentences and deal them into batches, the longest first.

    Few shapes occur, since each is a function to compile: lengths are rounded up to
    powers of two from 16, and a batch has `batch_size` rows, unless there is but one
    sentence. A blank sentence, or one without any token, is in no batch.

    Args:
        sentences: a list of strings.
        tokenizer: a KerasHub tokenizer of text to integer ids.
        end_id: id that ends a sentence.
        batch_size: number of rows.
        max_length: largest number of positions, `None` without a limit.
        first: index of the first sentence, for errors.

    Raises:
        ValueError: for a sentence that is too long.
    """

    def __init__(
        self,
        sentences: list[str],
        tokenizer: Any,
        end_id: int,
        batch_size: int,
        max_length: int | None = None,
        first: int = 0,
    ):
        self.encoded = EncodedTexts.from_texts(sentences, tokenizer)
        self._end_id = end_id
        _check_lengths(self.encoded.lengths, max_length, first)
        self._max_length = max_length
        lengths = self.encoded.lengths + 1
        filled = np.array([bool(sentence.strip()) for sentence in sentences], bool)
        filled &= self.encoded.lengths > 0
        order = np.argsort(-lengths, kind="stable")
        order = order[filled[order]]
        self._rows = batch_size if len(order) > 1 else 1
        self._groups = [
            order[first : first + self._rows]
            for first in range(0, len(order), self._rows)
        ]

    def __len__(self):
        """Return the number of batches."""
        return len(self._groups)

    def __iter__(self):
        """Yield a `SentenceBatch` after the other."""
        for rows in self._groups:
            spare = np.repeat(rows[-1], self._rows - len(rows))
            padded = np.append(rows, spare)
            longest = int(self.encoded.lengths[rows[0]]) + 1
            width = _ceiling(max(longest, SHORTEST))
            if self._max_length is not None:
                width = min(width, self._max_length)
            ids, ends = self.encoded.dense(padded, (len(padded), width))
            ids[np.arange(len(padded)), ends] = self._end_id
            yield SentenceBatch(rows, ids)


def _ceiling(number):
    """Return the smallest power of two that is not below `number`."""
    return 1 << (number - 1).bit_length()


def pair_batch(sources, targets, tokenizers, special_ids, max_length=None, first=0):
    """Make the arrays to score given translations.

    Args:
        sources: list of strings.
        targets: list of their translations.
        tokenizers: the source's tokenizer and the target's.
        special_ids: `SpecialIds`.
        max_length: largest number of positions, `None` without a limit.
        first: index of the first pair, for errors.

    Returns:
        `{"source_ids", "target_ids", "labels"}`, int32 (batch, length). Lengths are
        rounded up to powers of two.

    Raises:
        ValueError: for a sentence that is too long.
    """
    sides = []
    texts_by_name = {"source": sources, "target": targets}
    for (name, texts), tokenizer in zip(texts_by_name.items(), tokenizers, strict=True):
        encoded = EncodedTexts.from_texts(texts, tokenizer)
        _check_lengths(encoded.lengths, max_length, first, name)
        width = _ceiling(max(int(encoded.lengths.max()) + 1, SHORTEST))
        width = width if max_length is None else min(width, max_length)
        sides.append((encoded, (len(texts), width)))
    rows = np.arange(len(sources))
    source_ids, ends = sides[0][0].dense(rows, sides[0][1])
    source_ids[rows, ends] = special_ids.end
    target_ids, _ = sides[1][0].dense(rows, sides[1][1], offset=1)
    target_ids[:, 0] = special_ids.start
    labels, ends = sides[1][0].dense(rows, sides[1][1])
    labels[rows, ends] = special_ids.end
    return {"source_ids": source_ids, "target_ids": target_ids, "labels": labels}
