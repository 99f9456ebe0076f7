"""Tokens of a line, and the characters that have none."""

import pytest

from keras_transformer.demo.source_line import SourceLine
from keras_transformer.text import train_tokenizer
from tests.demo.scripted_translator import ScriptedTranslator
from tests.translators import toy_corpus, toy_tokenizer

pytestmark = pytest.mark.tensorflow_only


@pytest.fixture(scope="module")
def without_bytes():
    return train_tokenizer(toy_corpus().train, 200, byte_fallback=False)


def test_length_is_the_number_of_tokens():
    text = "The small dog sees two red houses."
    line = SourceLine(text, toy_tokenizer())
    assert len(line) == len(toy_tokenizer().tokenize(text))


def test_unknown_characters_are_named_once_in_their_order(without_bytes):
    line = SourceLine("A dog 猫 runs ß 猫.", without_bytes)
    assert line.unknown_characters() == ["猫", "ß"]


def test_known_characters_are_not_named(without_bytes):
    assert SourceLine("A dog runs.", without_bytes).unknown_characters() == []


def test_with_bytes_nothing_is_unknown():
    assert SourceLine("A dog 猫 runs.", toy_tokenizer()).unknown_characters() == []


def test_a_blank_line_has_no_tokens(without_bytes):
    line = SourceLine(" ", without_bytes)
    assert len(line) == 0
    assert line.unknown_characters() == []


def test_the_page_is_told_of_them(without_bytes):
    from keras_transformer.demo.translation_service import TranslationService

    translator = ScriptedTranslator()
    translator.tokenizer = without_bytes
    answer = TranslationService(translator).translate_line("A 猫.")
    (note,) = answer["notes"]
    assert note.endswith("reads each as the same unknown one: 猫")
    assert answer["translations"]
