"""BLEU and chrF are sacreBLEU's."""

import sys

import pytest

from keras_transformer.training import corpus_scores


def test_scores_equal_sacrebleu_with_several_references():
    sacrebleu = pytest.importorskip("sacrebleu")
    translations = ["the cat sat on the mat today", "a dog barks at night here"]
    references = [
        ["the cat sat on a mat today"],
        ["a dog barks", "a dog barks at night"],
    ]
    scores = corpus_scores(translations, references)
    streams = [["the cat sat on a mat today", "a dog barks"], [None, references[1][1]]]
    expected = sacrebleu.metrics.BLEU().corpus_score(translations, streams).score
    assert scores.bleu == pytest.approx(expected)
    assert 0 < scores.bleu < 100
    assert scores.chrf == pytest.approx(
        sacrebleu.metrics.CHRF().corpus_score(translations, streams).score
    )
    assert scores.bleu_signature.startswith("nrefs:var")
    assert scores.sentences == 2
    assert str(scores).startswith(f"BLEU {expected:.1f}, chrF ")
    assert scores.chrf_signature in str(scores)
    assert set(scores.to_dict()) >= {"bleu", "chrf", "bleu_signature"}


def test_a_perfect_translation_scores_100():
    pytest.importorskip("sacrebleu")
    line = "one two three four five"
    assert corpus_scores([line], [[line]]).bleu == pytest.approx(100)
    assert corpus_scores([line.upper()], [[line]], lowercase=True).bleu > 99


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match=r"at least 1.*0 and 0"):
        corpus_scores([], [])
    with pytest.raises(ValueError, match=r"same length.*2 and 1"):
        corpus_scores(["a", "b"], [["a"]])
    with pytest.raises(ValueError, match=r"Received: 'b' at index 1"):
        corpus_scores(["a", "b"], [["a"], "b"])
    with pytest.raises(ValueError, match=r"`tokenize` must be .* 13a.* Received: 'x'"):
        corpus_scores(["a"], [["a"]], tokenize="x")
    with pytest.raises(ValueError, match=r"Received: \[\] at index 0"):
        corpus_scores(["a"], [[]])


def test_without_sacrebleu_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(ImportError, match="pip install sacrebleu"):
        corpus_scores(["a"], [["a"]])
