"""A translator of the recurrent and the convolutional model."""

import keras
import numpy as np
import pytest

from keras_transformer import (
    BeamSearch,
    ConvolutionalSeq2Seq,
    RecurrentSeq2Seq,
    Sampling,
    Translator,
)
from keras_transformer.export import export_litert, export_onnx
from tests.backends import randomize, searches_without_xla
from tests.translators import VOCABULARY_SIZE, sentences, toy_corpus, toy_tokenizer

KINDS = {
    "recurrent": lambda: RecurrentSeq2Seq(
        VOCABULARY_SIZE, num_layers=(1, 2), hidden_dim=12, seed=1
    ),
    "convolutional": lambda: ConvolutionalSeq2Seq(
        VOCABULARY_SIZE, num_layers=2, hidden_dim=12, seed=1
    ),
}
LINES = [*sentences(3), "", "Hi"]


@pytest.fixture(autouse=True, scope="module")
def plain_searches():
    with searches_without_xla():
        yield


@pytest.fixture(scope="module", params=KINDS)
def translator(request):
    keras.utils.set_random_seed(7)
    model = randomize(KINDS[request.param](), scale=0.3)
    search = BeamSearch(num_beams=3)
    return Translator(
        model, toy_tokenizer(), search=search, max_length=20, batch_size=4
    )


def test_a_batch_gives_what_each_sentence_gives_alone(translator):
    together = translator.n_best(LINES, 2)
    assert together[3][0].text == ""
    assert len({found[0].text for found in together}) > 2
    for line, found in zip(LINES[:1], together, strict=False):
        alone = translator.n_best([line], 2)[0]
        assert [h.text for h in alone] == [h.text for h in found]
        np.testing.assert_allclose(
            [h.score for h in alone], [h.score for h in found], rtol=1e-4
        )


def test_scores_of_given_translations(translator):
    source, target = toy_corpus().train[0]
    x = [*translator.tokenizer.tokenize([source])[0], 1]
    y = [int(i) for i in translator.tokenizer.tokenize([target])[0]]
    logits = translator.model(
        {"source_ids": np.array([x]), "target_ids": np.array([[2, *y]])}
    )
    log_probs = keras.ops.convert_to_numpy(keras.ops.log_softmax(logits))[0]
    expected = sum(log_probs[i, token] for i, token in enumerate([*y, 1]))
    found = translator.score([source, "Hi"], [target, " ".join([target] * 2)])
    assert found[0] == pytest.approx(expected, rel=1e-4)


def test_it_is_evaluated_and_samples(translator):
    scores = translator.evaluate(toy_corpus().train[:3])
    assert 0.0 <= scores.bleu <= 100.0
    other = Translator(
        translator.model, toy_tokenizer(), search=Sampling(seed=3), max_length=8
    )
    assert len(set(other(LINES[:3]))) == 3


def test_a_saved_translator_translates_the_same(translator, tmp_path):
    translator.save(tmp_path / "small.translator")
    loaded = Translator.load(tmp_path / "small.translator")
    assert type(loaded.model) is type(translator.model)
    assert loaded.model.get_config() == translator.model.get_config()
    assert loaded(LINES[:3]) == translator(LINES[:3])


@pytest.mark.tensorflow_only
def test_the_exported_model_translates_the_same(translator, tmp_path):
    import tensorflow as tf

    translator.export(tmp_path / "1", warm_up=())
    signatures = tf.saved_model.load(str(tmp_path / "1")).signatures
    found = signatures["serving_default"](text=tf.constant(LINES))
    assert [text.decode() for text in found["translation"].numpy()] == translator(LINES)
    best = [hypotheses[0].score for hypotheses in translator.n_best(LINES)]
    np.testing.assert_allclose(found["score"], best, rtol=1e-4)
    sources, targets = zip(*toy_corpus().train[:3], strict=True)
    found = signatures["score"](
        text=tf.constant(sources), translation=tf.constant(targets)
    )
    expected = translator.score(list(sources), list(targets))
    np.testing.assert_allclose(found["log_probability"], expected, rtol=1e-4)
    found = signatures["serving_default"](text=tf.constant([], tf.string))
    assert found["translation"].shape == (0,)


def test_what_only_a_transformer_can_is_refused(translator, tmp_path):
    error = r"`model` must be a `Transformer`\. Received: <(Recurr|Convolut).*Seq2Seq"
    with pytest.raises(TypeError, match=error):
        translator.attention(LINES[0])
    with pytest.raises(TypeError, match=error):
        translator.export_ctranslate2(tmp_path / "ctranslate2")
    for export in (export_onnx, export_litert):
        with pytest.raises(TypeError, match=error):
            export(tmp_path / "other", translator.model)
    assert not list(tmp_path.iterdir())


@pytest.mark.tensorflow_only
def test_a_signature_of_attention_is_refused(translator, tmp_path):
    with pytest.raises(TypeError, match=r"`model` must be a `Transformer`"):
        translator.export(tmp_path / "1", attention=True)
    assert not list(tmp_path.iterdir())
