"""BLEU after each epoch: the translator's, with the weights of that moment."""

import json
import logging
import sys

import keras
import numpy as np
import pytest

from keras_transformer import (
    BleuCallback,
    CheckpointAveraging,
    GreedySearch,
    SmoothedCrossEntropy,
    TranslationData,
    Translator,
)
from keras_transformer.training import corpus_scores
from tests.translators import sentences, small_model, toy_corpus, toy_tokenizer

PAIRS = [("a", "the cat sat on the mat"), ("b", "a dog barks at night")]
HALF = ["the cat sat on the mat", "no"]
GOOD = [reference for _, reference in PAIRS]
BAD = ["nothing", "right"]


def scripted(*answers):
    """A translator that knows its translations of each epoch beforehand."""
    answers = iter(answers)
    return lambda sources: next(answers)


def bleu_of(translations, **options):
    return corpus_scores(translations, [[r] for _, r in PAIRS], **options).bleu


def tiny_fit(*callbacks, epochs=3, **options):
    """Fit one weight, which gets larger in each epoch."""
    model = keras.Sequential([keras.layers.Dense(1, use_bias=False)])
    model.build((None, 1))
    model.set_weights([np.zeros((1, 1))])
    model.compile(keras.optimizers.SGD(0.1), "mse", jit_compile=False)
    x = np.ones((1, 1))
    options = {"verbose": 0, **options}
    history = model.fit(x, x, epochs=epochs, callbacks=list(callbacks), **options)
    return model, history.history


def weights_of(path):
    model = keras.Sequential([keras.layers.Dense(1, use_bias=False)])
    model.build((None, 1))
    model.load_weights(path)
    return model.get_weights()[0].item()


@pytest.fixture(autouse=True)
def sacrebleu():
    return pytest.importorskip("sacrebleu")


def test_scores_stand_in_the_history_and_the_signature_is_logged(caplog):
    callback = BleuCallback(scripted(BAD, GOOD, HALF), PAIRS)
    with caplog.at_level(logging.INFO):
        _, history = tiny_fit(callback)
    expected = [bleu_of(BAD), bleu_of(GOOD), bleu_of(HALF)]
    assert history["val_bleu"] == pytest.approx(expected)
    assert callback.best_score == pytest.approx(100)
    assert callback.best_epoch == 1
    assert callback.signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a")
    logged = [r.message for r in caplog.records if r.name.startswith("keras_trans")]
    assert logged == [f"val_bleu is sacreBLEU's {callback.signature}"]


def test_a_callback_after_it_sees_the_score():
    callback = BleuCallback(scripted(GOOD, BAD, BAD, GOOD), PAIRS, name="bleu")
    stop = keras.callbacks.EarlyStopping("bleu", mode="max", patience=2)
    _, history = tiny_fit(callback, stop, epochs=4)
    assert history["bleu"] == pytest.approx([100, bleu_of(BAD), bleu_of(BAD)])


def test_every_so_many_epochs():
    callback = BleuCallback(scripted(GOOD, BAD), PAIRS, every=2)
    _, history = tiny_fit(callback, epochs=5)
    assert len(history["val_bleu"]) == 2
    assert callback.best_epoch == 1


def test_an_unknown_tokenizer_is_refused_before_training():
    with pytest.raises(ValueError, match=r"`tokenize` must be one of .*13a"):
        BleuCallback(scripted({}), PAIRS, tokenize="unknown")


def test_tokenizer_of_sacrebleu():
    translations = ["the cat sat on the mat .", "a dog barks at night!"]
    callback = BleuCallback(scripted(translations), PAIRS, tokenize="none")
    _, history = tiny_fit(callback, epochs=1)
    assert history["val_bleu"] == pytest.approx(
        [bleu_of(translations, tokenize="none")]
    )
    assert bleu_of(translations) != pytest.approx(history["val_bleu"][0], abs=0.1)
    assert "tok:none" in callback.signature


def test_the_best_weights_are_kept(tmp_path):
    best = tmp_path / "new" / "best.weights.h5"
    callback = BleuCallback(scripted(BAD, GOOD, HALF), PAIRS, best=best)
    weights = []
    record = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: weights.append(model.get_weights()[0].item())
    )
    model = keras.Sequential([keras.layers.Dense(1, use_bias=False)])
    model.build((None, 1))
    model.compile("sgd", "mse", jit_compile=False)
    x = np.ones((1, 1))
    model.fit(x, 9 * x, epochs=3, verbose=0, callbacks=[record, callback])
    assert weights_of(best) == pytest.approx(weights[1])
    assert len(set(weights)) == 3
    record = json.loads((tmp_path / "new" / "best.weights.h5.json").read_text())
    assert record["epoch"] == 1
    assert record["score"] == pytest.approx(100)
    assert record["signature"] == callback.signature
    assert len(list(best.parent.iterdir())) == 2


def test_a_run_that_goes_on_keeps_a_better_file(tmp_path):
    best = tmp_path / "best.weights.h5"
    tiny_fit(BleuCallback(scripted(HALF), PAIRS, best=best), epochs=1)
    before = weights_of(best)
    going_on = BleuCallback(scripted(BAD, GOOD), PAIRS, best=best)
    tiny_fit(going_on, epochs=2, initial_epoch=1)
    assert weights_of(best) == before
    assert going_on.best_epoch == 0
    assert going_on.best_score == pytest.approx(bleu_of(HALF))
    new = BleuCallback(scripted(BAD, BAD), PAIRS, best=best)
    tiny_fit(new, epochs=2)
    assert new.best_score == pytest.approx(bleu_of(BAD))


def test_an_interrupted_save_leaves_the_old_file(tmp_path, monkeypatch):
    best = tmp_path / "best.weights.h5"
    tiny_fit(BleuCallback(scripted(HALF), PAIRS, best=best), epochs=1)
    before = best.read_bytes()

    def half_of_a_file(self, path):
        path.write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(keras.Sequential, "save_weights", half_of_a_file)
    with pytest.raises(OSError, match="No space left"):
        tiny_fit(BleuCallback(scripted(GOOD), PAIRS, best=best), epochs=1)
    assert best.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {
        best.name,
        f"{best.name}.json",
    }


def test_the_average_translates_and_is_saved(tmp_path):
    best = tmp_path / "best.weights.h5"
    averaging = CheckpointAveraging(2)
    seen = []

    def translate(sources):
        seen.append(callback.model.get_weights()[0].item())
        return GOOD if len(seen) == 2 else BAD

    callback = BleuCallback(translate, PAIRS, averaging=averaging, best=best)
    tiny_fit(averaging, callback)  # weights 0.2, 0.36 and 0.488
    assert seen == pytest.approx([0.2, 0.28, 0.424])
    assert weights_of(best) == pytest.approx(0.28)
    callback = BleuCallback(scripted(GOOD), PAIRS, averaging=averaging)
    with pytest.raises(ValueError, match="`averaging` must be in `callbacks`, before"):
        tiny_fit(callback, averaging, epochs=1)


def test_a_translator_translates_with_the_weights_of_the_moment():
    model, tokenizer = small_model(num_layers=1, dropout=0.0), toy_tokenizer()
    data = TranslationData(
        toy_corpus().train[:40], tokenizer, tokens_per_batch=512, max_length=64,
        max_shapes=1,
    )  # fmt: skip
    options = {"search": GreedySearch(), "max_length": 12}
    translator, found = Translator(model, tokenizer, **options), []
    averaging = CheckpointAveraging(decay=0.5)

    def translate(sources):
        found.append((translator(sources), model.get_weights()))
        return found[-1][0]

    pairs = [(source, "una vaca") for source in sentences(2)]
    callback = BleuCallback(translate, pairs, averaging=averaging)
    model.compile(keras.optimizers.Adam(0.05), SmoothedCrossEntropy())
    model.fit(
        data.train, epochs=2, verbose=0, shuffle=False, callbacks=[averaging, callback]
    )
    assert found[0][0] != found[1][0]
    other = small_model(num_layers=1, dropout=0.0)
    translations, weights = found[1]
    other.set_weights(weights)
    assert Translator(other, tokenizer, **options)(sentences(2)) == translations


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([], "must be lists of the same length, at least 1"),
        (["ab"], r"`pairs` must hold \(source, reference\) .* 'ab' at index 0"),
        ([("a", "b"), ("a", ["b"])], r"`pairs` must hold .* at index 1"),
        ([("a", "b", "c")], "`pairs` must hold"),
    ],
)
def test_pairs_are_checked(pairs, message):
    with pytest.raises(ValueError, match=message):
        BleuCallback(list, pairs)


def test_other_arguments_are_checked(monkeypatch):
    with pytest.raises(ValueError, match=r"`best` must end in `.weights.h5`"):
        BleuCallback(list, PAIRS, best="best.h5")
    with pytest.raises(ValueError, match="`every` must be an integer"):
        BleuCallback(list, PAIRS, every=0)
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(ImportError, match="pip install sacrebleu"):
        BleuCallback(list, PAIRS)
