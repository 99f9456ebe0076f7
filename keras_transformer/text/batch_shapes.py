"""Choosing few (batch, source, target) shapes that waste little on padding."""

from dataclasses import dataclass

import numpy as np

Shape = tuple[int, int, int]
Dealt = tuple[Shape, np.ndarray]

GRID = 48  # candidate lengths on each side
IDLE = 0.25  # cost of an unused place in a batch, relative to a padding token


@dataclass(frozen=True)
class BatchShapes:
    """Shapes for batches, and which pair goes where.

    Attributes:
        shapes: `(batch, source, target)` sizes.
        batches: Number of batches of each shape.
        assignment: For each pair, the index of its shape, shape (pairs,).
    """

    shapes: list[Shape]
    batches: list[int]
    assignment: np.ndarray

    @property
    def positions(self) -> int:
        """Number of source and target positions of all batches, with padding."""
        return sum(
            count * batch * (source + target)
            for count, (batch, source, target) in zip(
                self.batches, self.shapes, strict=True
            )
        )

    def __len__(self) -> int:
        """Gives the number of batches."""
        return sum(self.batches)

    def deal(self, generator: np.random.Generator | None) -> list[Dealt]:
        """Gives the shape and the pairs of each batch.

        Args:
            generator: Decides which pairs of a shape come into which of its batches;
                without it they keep their order.

        Returns:
            For each batch, shape after shape, its shape and the indices of its pairs.
        """
        dealt = []
        for index, (shape, count) in enumerate(
            zip(self.shapes, self.batches, strict=True)
        ):
            pairs = np.flatnonzero(self.assignment == index)
            if generator is not None:
                pairs = generator.permutation(pairs)
            dealt += [(shape, part) for part in np.array_split(pairs, count)]
        return dealt


def choose_shapes(
    lengths: np.ndarray, max_shapes: int, tokens_per_batch: int, rows_multiple_of: int
) -> BatchShapes:
    """Chooses rectangles that cover all pairs at little cost.

    Each rectangle (source, target) holds the pairs that fit, each pair in the
    smallest that covers it. From the one rectangle that covers everything, those
    that save most are added one by one and then moved step by step. The cost of
    a choice is its number of positions, plus a part of the places that batches
    leave unused, so that few pairs are not spread over many small batches.

    The pairs of a rectangle are dealt out evenly: its batches differ by less
    than one row each. What they lack, and what their number of rows lacks to a
    multiple, is filled with rows of padding, so that all have one shape.

    Args:
        lengths: Source and target length of each pair, shape (pairs, 2).
        max_shapes: Most rectangles.
        tokens_per_batch: Most source and target positions of a batch; at least
            the length of the longest source and target together, for as many rows
            as `rows_multiple_of` says.
        rows_multiple_of: What divides the rows of each batch.

    Returns:
        The shapes.
    """
    sides = [_grid(lengths[:, side]) for side in (0, 1)]
    cells = np.stack(
        [
            grid[np.searchsorted(grid, lengths[:, side])]
            for side, grid in enumerate(sides)
        ],
        axis=1,
    )
    cells, cell_of_pair, counts = np.unique(
        cells, axis=0, return_inverse=True, return_counts=True
    )
    search = _Search(cells, counts, sides, tokens_per_batch, rows_multiple_of)
    chosen = search.run(max_shapes)
    rectangle_of_cell = search.assign(chosen)
    used, rectangle_of_cell = np.unique(rectangle_of_cell, return_inverse=True)
    rectangles = chosen[used]
    pairs = np.bincount(rectangle_of_cell, weights=counts).astype(int)
    batches, rows = search.deal(pairs, rectangles)
    return BatchShapes(
        shapes=[
            (int(row), int(source), int(target))
            for row, (source, target) in zip(rows, rectangles, strict=True)
        ],
        batches=batches.tolist(),
        assignment=rectangle_of_cell.reshape(-1)[cell_of_pair.reshape(-1)],
    )


def _grid(lengths: np.ndarray) -> np.ndarray:
    """Gives at most `GRID` lengths, the longest among them."""
    values = np.unique(lengths)
    if len(values) <= GRID:
        return values
    quantiles = np.quantile(lengths, np.linspace(0, 1, GRID // 2), method="higher")
    spread = values[np.linspace(0, len(values) - 1, GRID // 2).round().astype(int)]
    return np.union1d(quantiles, spread)


class _Search:
    """Searches for rectangles on the grid of lengths."""

    def __init__(self, cells, counts, sides, tokens_per_batch, rows_multiple_of):
        self.cells = cells  # (cells, 2)
        self.counts = counts
        self.sides = sides
        self.tokens_per_batch = tokens_per_batch
        self.multiple = rows_multiple_of

    def run(self, max_shapes: int) -> np.ndarray:
        chosen = np.array([[side[-1] for side in self.sides]])
        best, cost = chosen, self.cost(chosen)
        for _ in range(max_shapes - 1):
            chosen = np.concatenate([chosen, [self.most_saving(chosen)]])
            if self.cost(chosen) < cost:
                best, cost = chosen, self.cost(chosen)
        return self.moved(best, cost)

    def assign(self, chosen: np.ndarray) -> np.ndarray:
        covers = (self.cells[:, None] <= chosen[None]).all(-1)  # (cells, chosen)
        return np.where(covers, chosen.sum(-1), np.iinfo(np.int64).max).argmin(-1)

    def deal(self, pairs, rectangles) -> tuple[np.ndarray, np.ndarray]:
        step = self.multiple
        most = np.maximum(self.tokens_per_batch // rectangles.sum(-1) // step, 1) * step
        batches = -(-pairs // most)
        rows = -(-pairs // np.maximum(batches, 1))
        return batches, -(-rows // step) * step

    def cost(self, chosen: np.ndarray) -> float:
        pairs = np.bincount(self.assign(chosen), self.counts, len(chosen)).astype(int)
        batches, rows = self.deal(pairs, chosen)
        positions = (batches * rows * chosen.sum(-1)).sum()
        return positions + IDLE * (batches.sum() * self.tokens_per_batch - positions)

    def most_saving(self, chosen: np.ndarray) -> np.ndarray:
        now = chosen.sum(-1)[self.assign(chosen)]  # (cells,)
        candidates = np.stack(np.meshgrid(*self.sides, indexing="ij"), -1).reshape(
            -1, 2
        )
        covers = (self.cells[:, None] <= candidates[None]).all(-1)
        saved = np.maximum(now[:, None] - candidates.sum(-1), 0) * covers
        return candidates[(self.counts @ saved).argmax()]

    def moved(self, chosen: np.ndarray, cost: float) -> np.ndarray:
        """Moves single lengths along the grid for as long as that saves."""
        improved = True
        while improved:
            improved = False
            for index in range(1, len(chosen)):
                for step in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1)):
                    moved = chosen.copy()
                    moved[index] = self.neighbour(chosen[index], step)
                    if self.cost(moved) < cost:
                        chosen, cost, improved = moved, self.cost(moved), True
        return chosen

    def neighbour(self, rectangle, step) -> list[int]:
        return [
            side[np.clip(np.searchsorted(side, length) + by, 0, len(side) - 1)]
            for side, length, by in zip(self.sides, rectangle, step, strict=True)
        ]
