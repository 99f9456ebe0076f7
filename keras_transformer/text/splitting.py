"""Splitting pairs so that no sentence stands in two splits."""

import unicodedata
from collections.abc import Sequence

import numpy as np


def split_pairs(
    pairs: Sequence[tuple[str, str]],
    validation: int | float,
    test: int | float,
    seed: int,
) -> list[list[tuple[str, str]]]:
    """Splits pairs into three lists which share no sentence.

    Args:
        pairs: `(source, target)` strings, each pair once.
        validation: Fraction in [0, 1) or number of pairs for validation.
        test: Fraction in [0, 1) or number of pairs for testing.
        seed: Decides which pairs are held out.

    Returns:
        The pairs for training, validation and testing, in the order of `pairs`.
        The sizes are met as nearly as whole groups of linked pairs allow.

    Raises:
        ValueError: Sizes that leave nothing for training, or of which less than
            half can be held out without sharing a sentence.
    """
    sizes = split_sizes(len(pairs), validation, test)
    held = hold_out(sentence_groups(pairs), sizes, seed)
    asked = zip(("validation", "test"), (validation, test), sizes, held, strict=True)
    for name, value, size, indices in asked:
        if 2 * len(indices) < size:
            raise ValueError(
                f"`{name}` must be a size that pairs can fill without sharing a "
                f"sentence with other splits. Received: {value}, for {size} pairs, "
                f"but only {len(indices)} could be kept apart."
            )
    taken = {index for indices in held for index in indices}
    train = [index for index in range(len(pairs)) if index not in taken]
    return [[pairs[index] for index in split] for split in (train, *held)]


def split_sizes(
    total: int, validation: int | float, test: int | float
) -> tuple[int, int]:
    """Turns fractions or absolute numbers into numbers of pairs.

    Args:
        total: Number of pairs to split.
        validation: Fraction in [0, 1) or number of pairs for validation.
        test: Fraction in [0, 1) or number of pairs for testing.

    Returns:
        The numbers of validation and test pairs. A fraction above 0 gives at
        least one pair.

    Raises:
        ValueError: A negative size, a fraction outside [0, 1), or sizes that
            leave nothing for training.
    """
    sizes = [
        _size(name, value, total)
        for name, value in (("validation", validation), ("test", test))
    ]
    if sum(sizes) >= total:
        raise ValueError(
            "`validation` and `test` must leave pairs for training. Received: "
            f"validation={validation}, test={test}, which take {sum(sizes)} of "
            f"{total} pairs."
        )
    return sizes[0], sizes[1]


def _size(name: str, value: int | float, total: int) -> int:
    if isinstance(value, float) and 0 <= value < 1:
        return max(round(value * total), value > 0)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise ValueError(
        f"`{name}` must be a fraction in [0, 1) or a number of pairs >= 0. "
        f"Received: {value!r}."
    )


def comparison_key(text: str) -> str:
    """Gives what two sentences share if they are the same to a tokenizer."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def sentence_groups(pairs: Sequence[tuple[str, str]]) -> list[list[int]]:
    """Groups pairs which are linked, directly or in steps, by a shared sentence.

    Sentences are compared after NFKC and with runs of whitespace as one space.

    Args:
        pairs: `(source, target)` strings.

    Returns:
        Lists of indices into `pairs`; each index stands in exactly one.
    """
    parents = list(range(len(pairs)))

    def root(index: int) -> int:
        while parents[index] != index:
            parents[index] = parents[parents[index]]
            index = parents[index]
        return index

    first_seen: dict[str, int] = {}
    for index, pair in enumerate(pairs):
        for text in pair:
            other = root(first_seen.setdefault(comparison_key(text), index))
            parents[root(index)] = other
    groups: dict[int, list[int]] = {}
    for index in range(len(pairs)):
        groups.setdefault(root(index), []).append(index)
    return list(groups.values())


def hold_out(
    groups: Sequence[Sequence[int]], sizes: Sequence[int], seed: int
) -> list[list[int]]:
    """Takes whole groups, in an order drawn by `seed`, until each size is reached.

    A group that is larger than a tenth of a split is left for training, so that
    a few sentences with very many translations do not make up a test set; such
    groups are used only where smaller ones do not suffice.

    Args:
        groups: Lists of indices.
        sizes: The number of indices for each held-out split.
        seed: Decides which groups are taken.

    Returns:
        For each size a sorted list of at most that many indices.
    """
    order = np.random.default_rng(seed).permutation(len(groups)).tolist()
    splits: list[list[int]] = [[] for _ in sizes]
    for split, size in zip(splits, sizes, strict=True):
        for largest in (max(1, size // 10), size):
            left = []
            for index in order:
                if len(groups[index]) <= min(largest, size - len(split)):
                    split.extend(groups[index])
                else:
                    left.append(index)
            order = left
    return [sorted(split) for split in splits]
