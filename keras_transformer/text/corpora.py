"""Corpora by name: `tatoeba`, and `toy` with its known translation."""

import random

from keras_transformer.text.corpus import Corpus
from keras_transformer.text.tatoeba import tatoeba
from keras_transformer.text.toy_language import toy_sentence, toy_translate

__all__ = ["tatoeba", "toy", "toy_translate"]

LARGEST_TOY = 1_000_000  # of the few million sentences of the toy language


def toy(
    size: int = 4000,
    *,
    validation: int | float = 0.05,
    test: int | float = 0.05,
    seed: int = 0,
) -> Corpus:
    """Draws a small English-Spanish corpus with one right answer per sentence.

    The sentences have a word order that changes, gender and number that agree,
    and a negation, so that translating them takes more than a table of words.
    `toy_translate` gives the right answer for each.

    Args:
        size: Number of distinct pairs.
        validation: Fraction or number of pairs for validation.
        test: Fraction or number of pairs for testing.
        seed: Decides which sentences are drawn and held out.

    Returns:
        The corpus; no sentence is in two splits.

    Raises:
        ValueError: A size that is out of range.

    Examples:
        >>> toy(10, validation=1, test=1).train[0][0]
        'A pretty table paints two old boys.'
    """
    if not 1 <= size <= LARGEST_TOY:
        raise ValueError(
            f"`size` must be between 1 and {LARGEST_TOY}. Received: {size}."
        )
    generator = random.Random(seed)
    sentences: dict[str, None] = {}
    while len(sentences) < size:
        sentences[toy_sentence(generator)] = None
    return Corpus.from_pairs(
        ((sentence, toy_translate(sentence)) for sentence in sentences),
        validation=validation,
        test=test,
        seed=seed,
        name="toy-en-es",
        licence="CC0",
        source_language="en",
        target_language="es",
    )
