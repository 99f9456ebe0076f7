"""The attention maps of a sentence and its translation."""

import html
from dataclasses import dataclass

import numpy as np

from keras_transformer.visualization.attention_html import attention_html

LARGEST_PAGE = 1_000_000  # characters, of a page inside a notebook


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

    def _repr_html_(self):
        """Show the page of `attention_html` in notebooks, unless it is large."""
        page = attention_html(self)
        if len(page) > LARGEST_PAGE:
            return (
                f"<p>{html.escape(repr(self))}: a page of {len(page) / 1e6:.1f} MB, "
                "which would be saved with the notebook. Write it to a file with "
                "<code>attention_html</code>, or draw <code>plot_attention</code>.</p>"
            )
        return (
            f'<iframe title="Attention maps" srcdoc="{html.escape(page)}" '
            'style="border: 0; height: 36rem; width: 100%"></iframe>'
        )
