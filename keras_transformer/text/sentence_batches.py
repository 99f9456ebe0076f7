"""Batches of sentences to translate, by length."""

from typing import Any, NamedTuple

import numpy as np

from keras_transformer.text.encoded_pairs import EncodedTexts

SHORTEST = 8  # positions of the smallest batches


def check_sentences(name, sentences):
    """Return a list of strings, or raise an error that names the wrong one."""
    if isinstance(sentences, (str, bytes)):
        raise TypeError(f"`{name}` must be a list of strings. Received: {sentences!r}.")
    sentences = list(sentences)
    for number, sentence in enumerate(sentences):
        if not isinstance(sentence, str):
            raise TypeError(
                f"`{name}` must be a list of strings. "
                f"Received: {sentence!r} at index {number}."
            )
    return sentences


class SentenceBatch(NamedTuple):
    """Some sentences of about the same length.

    Attributes:
        rows: which sentences they are, int (sentences,).
        ids: int32 (batch, source), the sentences' ids, their end and padding. Further
            rows, up to a few fixed batch sizes, repeat the last sentence.
    """

    rows: np.ndarray
    ids: np.ndarray


class SentenceBatches:
    """Tokenize sentences and deal them into batches, the longest first.

    Lengths and numbers of rows are rounded up to powers of two, so that few shapes
    occur. A blank sentence, or one without any token, is in no batch.

    Args:
        sentences: a list of strings.
        tokenizer: a KerasHub tokenizer of text to integer ids.
        end_id: id that ends a sentence.
        batch_size: largest number of rows.
    """

    def __init__(self, sentences: list[str], tokenizer: Any, end_id: int, batch_size):
        self.encoded = EncodedTexts.from_texts(sentences, tokenizer)
        self._end_id = end_id
        lengths = self.encoded.lengths + 1
        filled = np.array([bool(sentence.strip()) for sentence in sentences], bool)
        filled &= self.encoded.lengths > 0
        order = np.argsort(-lengths, kind="stable")
        self._groups = _groups(order[filled[order]], lengths, batch_size)

    def __len__(self):
        """Return the number of batches."""
        return len(self._groups)

    def __iter__(self):
        """Yield a `SentenceBatch` after the other."""
        for rows, width in self._groups:
            padded = np.append(
                rows, np.repeat(rows[-1], _ceiling(len(rows)) - len(rows))
            )
            ids, ends = self.encoded.dense(padded, (len(padded), width))
            ids[np.arange(len(padded)), ends] = self._end_id
            yield SentenceBatch(rows, ids)


def _groups(order, lengths, batch_size):
    groups = []
    while len(order):
        width = _ceiling(max(int(lengths[order[0]]), SHORTEST))
        same = (
            int(np.sum(lengths[order] > width // 2)) if width > SHORTEST else len(order)
        )
        rows = order[: min(same, batch_size)]
        groups.append((rows, width))
        order = order[len(rows) :]
    return groups


def _ceiling(number):
    """Return the smallest power of two that is not below `number`."""
    return 1 << (number - 1).bit_length()


def pair_batch(sources, targets, tokenizers, special_ids):
    """Make the arrays to score given translations.

    Args:
        sources: list of strings.
        targets: list of their translations.
        tokenizers: the source's tokenizer and the target's.
        special_ids: `SpecialIds`.

    Returns:
        `{"source_ids", "target_ids", "labels"}`, int32 (batch, length). Lengths are
        rounded up to powers of two.
    """
    sides = []
    for texts, tokenizer in zip((sources, targets), tokenizers, strict=True):
        encoded = EncodedTexts.from_texts(texts, tokenizer)
        width = _ceiling(max(int(encoded.lengths.max()) + 1, SHORTEST))
        sides.append((encoded, (len(texts), width)))
    rows = np.arange(len(sources))
    source_ids, ends = sides[0][0].dense(rows, sides[0][1])
    source_ids[rows, ends] = special_ids.end
    target_ids, _ = sides[1][0].dense(rows, sides[1][1], offset=1)
    target_ids[:, 0] = special_ids.start
    labels, ends = sides[1][0].dense(rows, sides[1][1])
    labels[rows, ends] = special_ids.end
    return {"source_ids": source_ids, "target_ids": target_ids, "labels": labels}
