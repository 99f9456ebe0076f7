"""Sentences as one long row of characters or tokens, to train language models on."""

import numpy as np

from keras_transformer import corpora


def english_sentences(quick=False):
    """Return the English sides of a corpus: training and held-out sentences."""
    corpus = corpora.toy() if quick else corpora.tatoeba("es")
    held_out = dict.fromkeys(source for source, _ in corpus.test)
    return list(dict.fromkeys(source for source, _ in corpus.train)), list(held_out)


def characters_of(sentences):
    """Return the characters of sentences, the line's end and what is rare as one."""
    counts = {}
    for character in "".join(sentences):
        counts[character] = counts.get(character, 0) + 1
    usual = sorted(c for c, count in counts.items() if count >= 50)
    return {c: i for i, c in enumerate(usual, 3)}  # 1 ends a line, 2 is any other


def as_stream(sentences, characters, seed=0):
    """Put sentences one behind another, in a drawn order.

    Returns:
        int32 (length,).
    """
    order = np.random.default_rng(seed).permutation(len(sentences))
    ids = [
        number
        for place in order
        for number in [*(characters.get(c, 2) for c in sentences[place]), 1]
    ]
    return np.array(ids, "int32")


def windows(stream, length, number, seed=0):
    """Cut some windows out of a stream.

    Returns:
        Inputs and labels, int32 (number, length): a label is the next id.
    """
    starts = np.random.default_rng(seed).integers(0, len(stream) - length, number)
    rows = stream[starts[:, None] + np.arange(length + 1)]
    return rows[:, :-1], rows[:, 1:]
