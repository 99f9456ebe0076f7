"""Batches of neighbours in length, where each batch may have a shape of its own."""

from dataclasses import dataclass

import numpy as np

from keras_transformer.text.batch_shapes import Dealt, Shape

TRIES = 12  # halvings in the search for an even size of batches


@dataclass(frozen=True)
class SortedBatches:
    """Batches that are cut from pairs in the order of their lengths.

    Attributes:
        keys: Sorting keys of each pair, the first first, shape (2, pairs).
        sizes: Number of pairs of each batch.
        batches: `(batch, source, target)` size of each, rows of padding included.
    """

    keys: np.ndarray
    sizes: list[int]
    batches: list[Shape]

    @property
    def shapes(self) -> list[Shape]:
        """The shapes that occur."""
        return sorted(set(self.batches))

    @property
    def positions(self) -> int:
        """Number of source and target positions of all batches, with padding."""
        return sum(batch * (source + target) for batch, source, target in self.batches)

    def __len__(self) -> int:
        """Gives the number of batches."""
        return len(self.batches)

    def deal(self, generator: np.random.Generator | None) -> list[Dealt]:
        """Gives the shape and the pairs of each batch.

        Args:
            generator: Decides which of the pairs that are alike in both lengths comes
                into which batch; without it they keep their order.

        Returns:
            For each batch its shape and the indices of its pairs.
        """
        ties = () if generator is None else (generator.random(self.keys.shape[1]),)
        order = np.lexsort((*ties, *self.keys[::-1]))
        parts = np.split(order, np.cumsum(self.sizes)[:-1])
        return list(zip(self.batches, parts, strict=True))


def cut_sorted(
    lengths: np.ndarray, tokens_per_batch: int, rows_multiple_of: int
) -> SortedBatches:
    """Sorts pairs by their lengths and cuts them into batches with little padding.

    Pairs are sorted by the longer of their sides, and those alike in it by the
    difference of the two, upwards and downwards in turn, so that neighbours are close
    in both. It begins upwards or downwards, whichever pads less.

    Args:
        lengths: Source and target length of each pair, shape (pairs, 2).
        tokens_per_batch: Most source and target positions of a batch; at least
            the length of the longest source and target together, for as many rows
            as `rows_multiple_of` says.
        rows_multiple_of: What divides the rows of each batch.

    Returns:
        The batches.
    """
    longer = lengths.max(axis=1)
    difference = lengths[:, 0] - lengths[:, 1]
    found = []
    for parity in (0, 1):
        keys = np.stack(
            [longer, np.where(longer % 2 == parity, difference, -difference)]
        )
        in_order = lengths[np.lexsort(keys[::-1])]
        cut = _even_cut(in_order, tokens_per_batch, rows_multiple_of)
        found.append(SortedBatches(keys, *cut))
    return min(found, key=lambda batches: batches.positions)


def _even_cut(
    lengths: np.ndarray, budget: int, multiple: int
) -> tuple[list[int], list[Shape]]:
    """Cuts with the smallest budget that needs no more batches than the whole one.

    So the last batch is seldom much smaller than the others.
    """
    best = _cut(lengths, budget, multiple)
    # The longest source and target have to fit.
    least, enough = int(lengths.max(axis=0).sum()) * multiple - 1, budget
    for _ in range(TRIES):
        middle = (least + enough) // 2
        if middle <= least:
            break
        cut = _cut(lengths, middle, multiple)
        if len(cut[0]) <= len(best[0]):
            best, enough = cut, middle
        else:
            least = middle
    return best


def _cut(
    lengths: np.ndarray, budget: int, multiple: int
) -> tuple[list[int], list[Shape]]:
    """Gives the numbers of pairs, and the shapes, of batches within the budget."""
    sizes, shapes, start = [], [], 0
    while start < len(lengths):
        # As many rows as fit if none were longer than the first.
        most = max(budget // int(lengths[start].sum()), multiple)
        longest = np.maximum.accumulate(lengths[start : start + most])
        rows = -(-np.arange(1, len(longest) + 1) // multiple) * multiple
        fitting = np.flatnonzero(rows * longest.sum(axis=1) <= budget)
        size = int(fitting[-1]) + 1
        source, target = longest[size - 1].tolist()
        sizes.append(size)
        shapes.append((int(rows[size - 1]), source, target))
        start += size
    return sizes, shapes
