"""The SavedModel of a model in 8 bits."""

import numpy as np
import pytest

from keras_transformer import Translator
from keras_transformer.export import check
from tests.backends import randomize
from tests.translators import sentences, small_model, toy_tokenizer

pytestmark = pytest.mark.tensorflow_only


def test_it_equals_the_translator_and_is_a_quarter_as_large(tmp_path):
    import tensorflow as tf

    options = {"num_layers": 1, "hidden_dim": 64, "intermediate_dim": 256}
    model = randomize(small_model(**options), scale=0.1)
    translator = Translator(model, toy_tokenizer(), max_length=12)
    translator.export(tmp_path / "1", warm_up=[])
    model.quantize("int8")
    translator.export(tmp_path / "2", warm_up=[])
    sizes = [check(tmp_path / version).weight_bytes for version in "12"]
    assert sizes[1] < 0.3 * sizes[0]
    lines = sentences(4)
    loaded = tf.saved_model.load(str(tmp_path / "2"))
    found = loaded.signatures["serving_default"](text=tf.constant(lines))
    best = [hypotheses[0] for hypotheses in translator.n_best(lines)]
    assert [text.decode() for text in found["translation"].numpy()] == [
        hypothesis.text for hypothesis in best
    ]
    scores = [hypothesis.score for hypothesis in best]
    np.testing.assert_allclose(found["score"], scores, rtol=1e-2)
