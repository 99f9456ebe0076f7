"""A parallel corpus in three splits."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from keras_transformer.text.splitting import split_pairs

Pair = tuple[str, str]


@dataclass(frozen=True, repr=False)
class Corpus:
    """Sentence pairs for training, validation and testing.

    Made from pairs by `Corpus.from_pairs`, which splits without leaks, or
    directly from splits that someone else has published.

    Attributes:
        train: The `(source, target)` pairs to train on.
        validation: The pairs to watch while training.
        test: The pairs to report figures on.
        name: What the corpus is called.
        licence: Terms under which the sentences may be used.
        source_language: Code of the source language.
        target_language: Code of the target language.
        duplicates: Number of exact duplicates that were removed.
        blank: Number of pairs with a blank side that were removed.
        seed: Decides the order of `references`.

    Raises:
        ValueError: No pairs to train on, or an element that is not a pair of
            strings (named with its index).

    Examples:
        >>> corpus = Corpus(train=[("Go.", "Ve."), ("Hi.", "Hola.")])
        >>> corpus
        Corpus(name='', train=2, validation=0, test=0)
    """

    train: Sequence[Pair]
    validation: Sequence[Pair] = ()
    test: Sequence[Pair] = ()
    name: str = ""
    licence: str = ""
    source_language: str = ""
    target_language: str = ""
    duplicates: int = 0
    blank: int = 0
    seed: int = 0

    def __post_init__(self):
        """Checks the pairs and makes tuples of them."""
        for split in ("train", "validation", "test"):
            pairs = tuple(checked_pairs(split, getattr(self, split)))
            object.__setattr__(self, split, pairs)
        if not self.train:
            raise ValueError("`train` must hold at least one pair. Received: none.")

    def __repr__(self) -> str:
        """Gives sizes, not the sentences."""
        return (
            f"Corpus(name={self.name!r}, train={len(self.train)}, "
            f"validation={len(self.validation)}, test={len(self.test)})"
        )

    @classmethod
    def from_pairs(
        cls,
        pairs: Iterable[Pair],
        *,
        validation: int | float = 0.01,
        test: int | float = 0.01,
        seed: int = 0,
        **details: str,
    ) -> "Corpus":
        """Splits pairs so that no sentence of either language is in two splits.

        Pairs that share a sentence, directly or in steps, stay together.
        Sentences are compared after Unicode NFKC and with whitespace collapsed,
        which is what the tokenizer sees; upper and lower case differ. Exact
        duplicates of a pair and pairs with a blank side are removed and counted.
        Each split keeps the order of `pairs`.

        Args:
            pairs: `(source, target)` strings, such as a `PairReader`.
            validation: Fraction or number of pairs for validation, met as nearly
                as pairs that must stay together allow, never exceeded.
            test: Fraction or number of pairs for testing.
            seed: Decides which pairs are held out.
            **details: `name`, `licence`, `source_language`, `target_language`.

        Returns:
            The corpus.

        Raises:
            ValueError: No pairs, an element that is not a pair of strings, or
                sizes that leave nothing to train on or cannot be half met.

        Examples:
            >>> pairs = [("Go.", "Ve."), ("Go.", "Vete."), ("Hi.", "Hola.")]
            >>> Corpus.from_pairs(pairs, validation=0, test=1).test
            (('Hi.', 'Hola.'),)
        """
        given = list(checked_pairs("pairs", pairs))
        filled = [pair for pair in given if pair[0].strip() and pair[1].strip()]
        unique = list(dict.fromkeys(filled))
        if not unique:
            raise ValueError(
                "`pairs` must hold at least one pair with text on both sides. "
                f"Received: {len(given)} pairs, {len(given)} of them with a blank side."
            )
        train, held_validation, held_test = split_pairs(unique, validation, test, seed)
        return cls(
            train=train,
            validation=held_validation,
            test=held_test,
            duplicates=len(filled) - len(unique),
            blank=len(given) - len(filled) + getattr(pairs, "dropped", 0),
            seed=seed,
            **details,
        )

    def references(
        self,
        split: str = "test",
        *,
        max_words: int | None = None,
        limit: int | None = None,
    ) -> tuple[list[str], list[list[str]]]:
        """Gives each source of a split once, with all its translations.

        Args:
            split: `"train"`, `"validation"` or `"test"`.
            max_words: Leaves out sources with more words, split at whitespace.
            limit: Gives only that many sources.

        Returns:
            The sources, in an order drawn by the seed of the corpus (so that
            the first ones are a fair sample), and for each source the list of
            its translations.

        Raises:
            ValueError: An unknown split, or a limit below 1.

        Examples:
            >>> corpus = Corpus(train=[("Go.", "Ve."), ("Go.", "Vete.")])
            >>> corpus.references("train")
            (['Go.'], [['Ve.', 'Vete.']])
        """
        if split not in ("train", "validation", "test"):
            raise ValueError(
                f"`split` must be 'train', 'validation' or 'test'. Received: {split!r}."
            )
        for name, value in (("max_words", max_words), ("limit", limit)):
            if value is not None and value < 1:
                raise ValueError(f"`{name}` must be at least 1. Received: {value}.")
        targets: dict[str, list[str]] = {}
        for source, target in getattr(self, split):
            targets.setdefault(source, []).append(target)
        sources = list(targets)
        order = np.random.default_rng(self.seed).permutation(len(sources))
        chosen = [
            sources[index]
            for index in order
            if max_words is None or len(sources[index].split()) <= max_words
        ][:limit]
        return chosen, [targets[source] for source in chosen]


def checked_pairs(name: str, pairs: Iterable[Pair]) -> Iterable[Pair]:
    """Yields the pairs as tuples; the first that is none is an error."""
    for index, pair in enumerate(pairs):
        if (
            not isinstance(pair, tuple | list)
            or len(pair) != 2
            or not all(isinstance(side, str) for side in pair)
        ):
            raise ValueError(
                f"`{name}` must hold pairs of strings. Received at index {index}: "
                f"{pair!r}."
            )
        for side in pair:
            check_unicode(name, index, side)
        yield pair[0], pair[1]


def check_unicode(name: str, index: int, text: str) -> None:
    """Refuses half of a surrogate pair, which cannot be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"`{name}` must hold valid Unicode. Received at index {index}: {text!r}."
        ) from error
