"""Attention maps as plain values, for JSON."""

import numpy as np

PARTS = {
    "encoder": ("source_tokens", "source_tokens"),
    "cross": ("target_tokens", "source_tokens"),
    "decoder": ("target_tokens", "target_tokens"),
}


def attention_data(maps):
    """Give attention maps as plain values.

    Weights are rounded to three decimals: a weight is right within 0.0005, and a page
    stays small.

    Args:
        maps: `AttentionMaps`.

    Returns:
        A dictionary that `json.dumps` takes: `source_tokens`, `target_tokens` and
        `predicted_tokens`, lists of strings; `encoder`, `decoder` and `cross`, lists of
        layers of heads of rows of numbers.

    Raises:
        ValueError: for maps whose sizes don't fit the tokens, or with weights that are
            no numbers from 0 to 1.
    """
    check_maps(maps)
    tokens = ("source_tokens", "target_tokens", "predicted_tokens")
    return {
        **{name: list(getattr(maps, name)) for name in tokens},
        **{part: _rounded(getattr(maps, part)) for part in PARTS},
    }


def check_maps(maps):
    """Raise `ValueError` unless the sizes fit the tokens, and weights are in [0, 1]."""
    read, predicted = len(maps.target_tokens), len(maps.predicted_tokens)
    if read != predicted:
        raise ValueError(
            "`maps` must have as many `predicted_tokens` as `target_tokens`. "
            f"Received: {predicted} and {read}."
        )
    for part, sides in PARTS.items():
        weights = np.asarray(getattr(maps, part))
        wanted = tuple(len(getattr(maps, side)) for side in sides)
        if weights.ndim != 4 or weights.shape[2:] != wanted or 0 in weights.shape:
            raise ValueError(
                f"`maps.{part}` must have the shape (layers, heads, {wanted[0]}, "
                f"{wanted[1]}) of its tokens. Received: {weights.shape}."
            )
        if not (np.min(weights) >= 0 and np.max(weights) <= 1 + 1e-3):
            raise ValueError(
                f"`maps.{part}` must hold weights from 0 to 1. Received: from "
                f"{np.min(weights)} to {np.max(weights)}."
            )


def _rounded(weights):
    # In float64, so that 0.123 is written as 0.123.
    return np.round(np.asarray(weights, "float64"), 3).tolist()
