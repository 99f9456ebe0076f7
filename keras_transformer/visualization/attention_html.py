"""A page to look into attention maps with."""

import html
import json
from importlib.resources import files

from keras_transformer.visualization.attention_data import attention_data

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ background: light-dark(#ffffff, #16191d); color: light-dark(#1b1f24, #e8eaed);
  font-family: system-ui, "Noto Sans", sans-serif; margin: 0 auto; max-width: 75rem;
  padding: 1rem; }}
h1 {{ font-size: 1.4rem; margin: 0 0 1rem; overflow-wrap: anywhere; }}
{style}</style>
</head>
<body>
<h1 dir="auto">{title}</h1>
<div id="attention"></div>
<script type="application/json" id="attention-data">{data}</script>
<script>
{script}
showAttention(
  document.getElementById("attention"),
  JSON.parse(document.getElementById("attention-data").textContent),
);
</script>
</body>
</html>
"""


def attention_html(maps, *, title=None):
    """Write attention maps as one page, to open in a browser.

    The page needs no other file and no network. It shows the encoder, the decoder and
    the attention between them, by layer and head or as the mean of a layer's heads:
    point at a word, tap it or go to it with the keyboard, and the words that it looks
    at are shaded by their weights.

    Args:
        maps: `AttentionMaps`.
        title: heading of the page.

    Returns:
        The page, a string; write it as UTF-8.

    Raises:
        ValueError: as for `attention_data`.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer.visualization import AttentionMaps, attention_html
        >>> even = np.full((1, 2, 2, 2), 0.5)
        >>> maps = AttentionMaps(["one", "</s>"], ["<s>", "eins"], ["eins", "</s>"],
        ...                      encoder=even, decoder=even, cross=even)
        >>> attention_html(maps, title="one: eins").splitlines()[0]
        '<!doctype html>'
    """
    heading = "Attention maps" if title is None else title
    return PAGE.format(
        title=html.escape(heading),
        style=_part("attention_viewer.css"),
        data=_script_safe(attention_data(maps)),
        script=_part("attention_viewer.js"),
    )


def _script_safe(data):
    """Write JSON without a character that could end a script, all in ASCII."""
    text = json.dumps(data, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _part(name):
    path = files("keras_transformer.visualization") / name
    return path.read_text(encoding="utf-8")
