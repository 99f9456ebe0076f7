"""Labels of tokens in pictures."""

import pytest

from keras_transformer.visualization.token_labels import token_labels

pytestmark = pytest.mark.tensorflow_only


def test_spaces_become_the_absence_of_a_hyphen():
    tokens = ["▁нахо", "дится", "▁", "?", ".", "▁हिन्", "दी", "2", "</s>"]
    labels = ["нахо", "-дится", "▁", "?", ".", "हिन्", "-दी", "-2", "</s>"]
    assert token_labels(tokens) == labels


def test_tokens_without_signs_of_spaces_stay():
    tokens = ["駅", "は", "play", "##ing"]
    assert token_labels(tokens) == tokens


@pytest.mark.parametrize("token", ["今天", "どこ", "カ", "ไทย"])
def test_scripts_without_spaces_have_no_hyphens(token):
    assert token_labels(["▁a", token]) == ["a", token]


@pytest.mark.parametrize(
    ("token", "label"),
    [
        ("\n", "U+000A"),
        ("\u200b", "U+200B"),
        ("\u200d\ufeff", "U+200D U+FEFF"),
        ("", "(empty)"),
        ("x\ty", "x[U+0009]y"),
        ("\ud83d", "U+D83D"),
        ("a\u2028", "a[U+2028]"),
        ("\u05d0\u200c\u05d1", "\u05d0\u200c\u05d1"),  # it belongs to the word
        ("w" * 41, "w" * 40 + "\N{HORIZONTAL ELLIPSIS}"),
    ],
)
def test_what_nobody_could_see_is_a_code_point(token, label):
    assert token_labels([token]) == [label]
