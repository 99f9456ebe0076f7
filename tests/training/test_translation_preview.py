"""Sample translations during training."""

import keras
import numpy as np
import pytest

from keras_transformer import TranslationPreview


def test_each_epoch_prints_a_line_for_each_sentence(capsys):
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    calls = []

    def translate(sentences):
        calls.append(sentences)
        return [sentence.upper() for sentence in sentences]

    preview = TranslationPreview(translate, ["one", "two"])
    x = np.zeros((4, 2))
    model.fit(x, x[:, :1], epochs=2, verbose=0, callbacks=[preview])
    assert calls == [["one", "two"]] * 2
    assert capsys.readouterr().out == "\n  one -> ONE\n  two -> TWO\n" * 2


@pytest.mark.parametrize("sentences", [[], "one"])
def test_sentences_must_be_a_list_that_is_not_empty(sentences):
    with pytest.raises(ValueError, match="`sentences` must be a list"):
        TranslationPreview(str.upper, sentences)
