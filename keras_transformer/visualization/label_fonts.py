"""Fonts of this machine that have the characters of a picture's labels."""

import unicodedata
import warnings
from pathlib import Path

import matplotlib
from matplotlib import font_manager, rcParams
from matplotlib.ft2font import FT2Font

from keras_transformer.visualization.token_labels import code_point

# Fonts of coloured pictures, which matplotlib cannot draw, and of empty boxes.
UNUSABLE = ("color", "last resort", "lastresort", "blank")
UNUSUAL = ("bold", "black", "italic", "oblique", "light", "thin", "condensed", "serif")
# Unicode's name of a script, where fonts have another.
FONTS_OF_SCRIPTS = {
    "hiragana": "cjk",
    "katakana": "cjk",
    "hangul": "cjk",
    "fullwidth": "cjk",
    "ideographic": "cjk",
}


def label_fonts(labels):
    """Choose fonts for labels, from all that are installed.

    Args:
        labels: list of strings.

    Returns:
        Names of font families, to be tried one after the other, and the characters
        that none of them has.

    Warns:
        UserWarning: naming these characters; and where matplotlib is too old to write
            from right to left.
    """
    wanted = {c for label in labels for c in label if not _is_ignorable(c)}
    _check_direction(wanted)
    families = list(rcParams["font.family"])
    default = font_manager.findfont(font_manager.FontProperties(family=families))
    wanted -= _covered(default, wanted)
    lacking = set()
    paths = _font_files() if wanted else []
    while wanted:
        character = min(wanted)
        path = _best_font(character, paths)
        if path is None:
            lacking.add(character)
            wanted.remove(character)
        else:
            families.append(_family(path))
            wanted -= _covered(path, wanted)
    if lacking:
        _warn_of_lacking(lacking)
    return families, lacking


def _font_files():
    # The list that matplotlib keeps may be older than fonts installed since.
    known = [font.fname for font in font_manager.fontManager.ttflist]
    paths = sorted({*known, *font_manager.findSystemFonts()})
    names = [(path, Path(path).stem.lower()) for path in paths]
    return [path for path, name in names if not any(word in name for word in UNUSABLE)]


def _best_font(character, paths):
    script = unicodedata.name(character, "?").split()[0].split("-")[0].lower()
    script = FONTS_OF_SCRIPTS.get(script, script)

    def unlikely(path):
        name = Path(path).stem.lower()
        unusual = sum(word in name for word in UNUSUAL)
        return script not in name, unusual, "sans" not in name, len(name), name

    ordered = sorted(paths, key=unlikely)
    return next((path for path in ordered if _covered(path, [character])), None)


def _covered(path, characters):
    try:
        font = FT2Font(path)
    except (OSError, RuntimeError):  # a file that is no font after all
        return set()
    if not font.scalable:
        return set()
    return {c for c in characters if font.get_char_index(ord(c))}


def _family(path):
    manager = font_manager.fontManager
    if all(font.fname != path for font in manager.ttflist):
        manager.addfont(path)
    return next(font.name for font in manager.ttflist if font.fname == path)


def _is_ignorable(character):
    """Whether nothing is drawn for a character: joiners, variation selectors."""
    selector = "VARIATION SELECTOR" in unicodedata.name(character, "")
    return selector or unicodedata.category(character) in ("Cf", "Zs")


def _check_direction(characters):
    version = tuple(int(part) for part in matplotlib.__version__.split(".")[:2])
    leftwards = any(unicodedata.bidirectional(c) in ("R", "AL") for c in characters)
    if leftwards and version < (3, 11):
        warnings.warn(
            f"matplotlib {matplotlib.__version__} writes Arabic and Hebrew from left "
            "to right, with letters that don't join. Install a newer one: "
            "pip install 'matplotlib>=3.11'",
            stacklevel=5,
        )


def _warn_of_lacking(characters):
    named = ", ".join(
        f"{code_point(c)} ({unicodedata.name(c, 'no name')})"
        for c in sorted(characters)
    )
    warnings.warn(
        f"No installed font has {named}: written as code points. Install a font of "
        "the script, one of the Noto fonts for example (on Debian and Ubuntu: "
        "apt install fonts-noto-core fonts-noto-cjk).",
        stacklevel=5,
    )
