"""The attention maps of a sentence and its translation."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class AttentionMaps:
    """What every head of a model attends to, with the tokens.

    A row of a map is a query, and sums to one over the keys. The decoder's row `i` has
    read `target_tokens[: i + 1]`, and is used to predict `predicted_tokens[i]`. A map
    says where a head looked, not what the prediction depends on: models of the same
    function can have different maps.

    Attributes:
        source_tokens: tokens of the source and its end.
        target_tokens: what the decoder reads: the start, and the target's tokens.
        predicted_tokens: what follows each of these: the target's tokens and the end.
        encoder: float32 (layers, heads, source, source).
        decoder: float32 (layers, heads, target, target), zero above the diagonal.
        cross: float32 (layers, heads, target, source).
    """

    source_tokens: list[str]
    target_tokens: list[str]
    predicted_tokens: list[str]
    encoder: np.ndarray
    decoder: np.ndarray
    cross: np.ndarray

    def __repr__(self):
        """Name the shapes, not the numbers."""
        shapes = (
            f"{name}: {getattr(self, name).shape}"
            for name in ("encoder", "decoder", "cross")
        )
        return f"AttentionMaps({', '.join(shapes)})"
