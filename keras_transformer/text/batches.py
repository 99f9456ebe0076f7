"""One split of a corpus as batches of ids."""

from collections.abc import Iterator

import numpy as np

from keras_transformer.text.batch_shapes import Dealt, Shape, choose_shapes
from keras_transformer.text.encoded_pairs import EncodedTexts
from keras_transformer.text.sorted_batches import cut_sorted
from keras_transformer.text.special_ids import SpecialIds

Batch = tuple[dict[str, np.ndarray], np.ndarray]


class Batches:
    """Deals encoded pairs into batches with little padding.

    Args:
        source: The encoded source texts.
        target: The encoded target texts, in the same order.
        special_ids: The ids that frame and pad the texts.
        max_length: Most positions of a source or target; pairs with more are
            left out and counted in `too_long`.
        tokens_per_batch: Most source and target positions of a batch.
        max_shapes: Most shapes of batches, or None for no limit.
        rows_multiple_of: What divides the rows of each batch.

    Attributes:
        too_long: Number of pairs left out.
        shapes: The `(batch, source, target)` sizes.
        padding_share: Share of positions which are padding, in [0, 1).
    """

    def __init__(
        self,
        source: EncodedTexts,
        target: EncodedTexts,
        *,
        special_ids: SpecialIds,
        max_length: int,
        tokens_per_batch: int,
        max_shapes: int | None,
        rows_multiple_of: int = 1,
    ):
        self._source, self._target = source, target
        self._special_ids = special_ids
        lengths = np.stack([source.lengths, target.lengths], axis=1) + 1
        kept = (lengths <= max_length).all(axis=1)
        self.too_long = int((~kept).sum())
        self._pairs = np.flatnonzero(kept)
        self.shapes: list[Shape] = []
        self.padding_share = 0.0
        self._dealer = None
        if len(self._pairs):
            lengths, sizes = lengths[kept], (tokens_per_batch, rows_multiple_of)
            self._dealer = (
                cut_sorted(lengths, *sizes)
                if max_shapes is None
                else choose_shapes(lengths, max_shapes, *sizes)
            )
            self.shapes = self._dealer.shapes
            self.padding_share = 1 - int(lengths.sum()) / self._dealer.positions

    @property
    def pairs(self) -> int:
        """Number of pairs that are dealt."""
        return len(self._pairs)

    @property
    def digest(self) -> str:
        """A hash of the ids of all pairs."""
        return f"{self._source.digest} {self._target.digest}"

    def __len__(self) -> int:
        """Gives the number of batches."""
        return len(self._dealer) if self._dealer else 0

    def order(self, seed: tuple[int, int] | None) -> list[Dealt]:
        """Gives the shape and the pairs of each batch of an epoch.

        Args:
            seed: Draws the order; without it the order is that of the corpus,
                shape after shape.

        Returns:
            Shape and indices of pairs for each batch.
        """
        if self._dealer is None:
            return []
        generator = None if seed is None else np.random.default_rng(seed)
        order = [
            (shape, self._pairs[indices])
            for shape, indices in self._dealer.deal(generator)
        ]
        if generator is not None:
            order = [order[index] for index in generator.permutation(len(order))]
        return order

    def iterate(self, order: list[Dealt]) -> Iterator[Batch]:
        """Yields `({"source_ids", "target_ids"}, labels)` for each entry of `order`."""
        for shape, rows in order:
            yield self._batch(rows, *shape)

    def _batch(self, rows: np.ndarray, size: int, source: int, target: int) -> Batch:
        present = np.arange(len(rows))
        source_ids, ends = self._source.dense(rows, (size, source))
        source_ids[present, ends] = self._special_ids.end
        target_ids, _ = self._target.dense(rows, (size, target), offset=1)
        target_ids[present, 0] = self._special_ids.start
        labels, ends = self._target.dense(rows, (size, target))
        labels[present, ends] = self._special_ids.end
        return {"source_ids": source_ids, "target_ids": target_ids}, labels


def check_sizes(
    tokens_per_batch: int,
    max_length: int,
    max_shapes: int | None,
    rows_multiple_of: int,
) -> None:
    """Raises `ValueError` for sizes of batches that are too small."""
    _check_at_least("max_length", max_length, 2)
    if max_shapes is not None:
        _check_at_least("max_shapes", max_shapes, 1)
    _check_at_least("rows_multiple_of", rows_multiple_of, 1)
    why = "twice `max_length`"
    if rows_multiple_of > 1:
        why += f" for each of `rows_multiple_of`={rows_multiple_of} rows"
    least = 2 * max_length * rows_multiple_of
    _check_at_least("tokens_per_batch", tokens_per_batch, least, f" ({why})")


def check_seed(seed: int) -> None:
    """Raises `ValueError` for a seed from which nothing can be drawn."""
    _check_at_least("seed", seed, 0)


def _check_at_least(name: str, value: int, least: int, why: str = "") -> None:
    if type(value) is not int or value < least:
        raise ValueError(
            f"`{name}` must be an integer of at least {least}{why}. "
            f"Received: {value!r}."
        )
