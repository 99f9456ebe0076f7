"""Attention maps as pictures."""

import numpy as np

from keras_transformer.argument_checks import check_choice
from keras_transformer.text.optional_imports import require
from keras_transformer.visualization.attention_data import PARTS, check_maps

SUBJECTS = {
    "encoder": "Encoder self-attention",
    "cross": "Cross-attention",
    "decoder": "Decoder self-attention",
}


def plot_attention(maps, part="cross", *, layer=None, head=None, vmax=1.0, title=None):
    """Draw attention maps with matplotlib.

    With `layer` and `head` that head; with `layer` all its heads; with neither the
    layers, of each the mean of its heads. Rows are queries and sum to one, columns are
    keys. Rows of the decoder and of the attention between both sides name the token
    that is predicted on the left, and the one that was read before it on the right.

    Labels are drawn with the fonts of this machine that have their characters. A
    character that no font has is written as its code point, with a warning that says
    so. SentencePiece's sign of a space is left out: a piece inside a word begins with a
    hyphen. A token of more than 40 characters is cut there, with an ellipsis.

    The figure grows with the number of tokens, to 36 inches in width and height. Beyond
    that cells get smaller and only every second token has a label, or every third, as
    the names of the axes then say.

    Args:
        maps: `AttentionMaps`.
        part: `"encoder"`, `"cross"` or `"decoder"`.
        layer: number of a layer, from 0 as in `maps.cross[layer, head]`.
        head: number of a head, from 0; needs `layer`.
        vmax: weight of the darkest colour; `None` for the largest in the figure.
        title: heading of the figure, instead of one that says what is drawn.

    Returns:
        A `matplotlib.figure.Figure`, which pyplot does not keep. Notebooks show it;
        `savefig` writes it to a file.

    Raises:
        ImportError: without matplotlib.
        ValueError: for a layer or head that isn't there, a head without its layer, a
            `vmax` outside (0, 1], or maps as for `attention_data`.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer.visualization import AttentionMaps, plot_attention
        >>> even = np.full((1, 2, 2, 2), 0.5)
        >>> maps = AttentionMaps(["one", "</s>"], ["<s>", "eins"], ["eins", "</s>"],
        ...                      encoder=even, decoder=even, cross=even)
        >>> figure = plot_attention(maps, layer=0)
        >>> [axes.get_title() for axes in figure.axes[:2]]
        ['head 0', 'head 1']
    """
    check_choice("part", part, tuple(PARTS))
    check_maps(maps)
    panels, named = _panels(np.asarray(getattr(maps, part)), layer, head)
    if vmax is not None and not 0 < vmax <= 1:
        raise ValueError(f"`vmax` must be in (0, 1], or None. Received: {vmax!r}.")
    require("matplotlib", "plot_attention")
    from keras_transformer.visualization.attention_panels import draw_panels

    return draw_panels(
        panels,
        _sides(maps, part),
        vmax=vmax,
        title=f"{SUBJECTS[part]}{named}" if title is None else title,
    )


def _sides(maps, part):
    """Return name and tokens of the rows, of the columns, and of the rows' right."""
    if part == "encoder":
        source = maps.source_tokens
        return ("source, looking", source), ("source, looked at", source), ("", [])
    keys = {
        "cross": ("source, looked at", maps.source_tokens),
        "decoder": ("read so far, looked at", maps.target_tokens),
    }
    predicted = "predicted next, looking", maps.predicted_tokens
    return predicted, keys[part], ("read just before", maps.target_tokens)


def _panels(weights, layer, head):
    """Return (heading, map) of each panel, and what the title says of them."""
    layers, heads = weights.shape[:2]
    if layer is None:
        if head is not None:
            raise ValueError(f"`head` needs a `layer`. Received: head={head!r}.")
        means = [(f"layer {i}", maps.mean(axis=0)) for i, maps in enumerate(weights)]
        return means, f", mean of {heads} heads" if heads > 1 else ""
    _check_number("layer", layer, layers)
    if head is None:
        return [(f"head {i}", one) for i, one in enumerate(weights[layer])], (
            f", layer {layer}"
        )
    _check_number("head", head, heads)
    return [("", weights[layer, head])], f", layer {layer}, head {head}"


def _check_number(name, number, count):
    whole = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
    if not whole or number not in range(count):
        raise ValueError(
            f"`{name}` must be an integer from 0 to {count - 1}. Received: {number!r}."
        )
