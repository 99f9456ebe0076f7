"""What stands at the rows and columns of a picture for tokens."""

import unicodedata

LONGEST = 40  # characters
SPACE = "▁"  # SentencePiece's sign of a space before a word
# Scripts without spaces: a piece there is a word as much as the one before.
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")


def token_labels(tokens):
    """Return a label for each token.

    SentencePiece's sign of a space is left out, and a piece inside a word gets a hyphen
    instead, if there are words of several pieces at all. What nobody could see, such as
    a line break, is written as its code point. Longer ones than 40 characters end there
    with an ellipsis.
    """
    spaced = any(token.startswith(SPACE) for token in tokens)
    return [_label(token, inside=spaced and i > 0) for i, token in enumerate(tokens)]


def code_point(character):
    """Return the name that Unicode numbers a character with, such as `U+0041`."""
    return f"U+{ord(character):04X}"


def without(characters, text):
    """Write the code points of some characters instead of them."""
    left_out = set(characters)
    return "".join(f"[{code_point(c)}]" if c in left_out else c for c in text)


def _label(token, inside):
    if token.startswith(SPACE) and token != SPACE:
        token, inside = token[1:], False
    if not token.strip() or all(_is_control(character) for character in token):
        return " ".join(map(code_point, token)) or "(empty)"
    text = without(filter(_is_break, token), token)
    if inside and _continues_a_word(token[0]):
        text = f"-{text}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\N{HORIZONTAL ELLIPSIS}"


def _is_control(character):
    return unicodedata.category(character)[0] == "C"


def _is_break(character):
    # Lone surrogates, which no font and no file can hold, too.
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")


def _continues_a_word(character):
    unspaced = unicodedata.name(character, "").startswith(UNSPACED)
    return unicodedata.category(character)[0] in "LMN" and not unspaced
