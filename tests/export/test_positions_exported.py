"""Positions inside attention in the SavedModel, ONNX Runtime and LiteRT."""

import numpy as np
import pytest

from keras_transformer import BeamSearch, RelativePositionBias, Translator
from tests.backends import assert_close, randomize
from tests.export.runtimes import (
    LiteRT,
    Onnx,
    random_model,
    random_sources,
    random_targets,
    read,
)
from tests.export.test_other_runtimes import needs_newest_keras
from tests.translators import sentences, small_model, toy_tokenizer

pytestmark = [
    pytest.mark.tensorflow_only,
    # Keras repairs tf2onnx for NumPy 2, which warns of the name that it looks for.
    pytest.mark.filterwarnings("ignore:In the future `np.object`"),
]
RELATIVE = RelativePositionBias(num_buckets=8, max_distance=16)
RUNTIMES = [Onnx, pytest.param(LiteRT, marks=needs_newest_keras)]


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("position", ["rotary", RELATIVE], ids=["rotary", "relative"])
def test_steps_of_other_runtimes_equal_the_model(position, runtime, tmp_path):
    model = random_model(position=position, num_heads=4, num_key_value_heads=2)
    source_ids, target_ids = random_sources(), random_targets(model, 9)
    expected = model({"source_ids": source_ids, "target_ids": target_ids})
    run = runtime(tmp_path / "model", model, 9)
    assert_close(read(run.encode, run.step, source_ids, target_ids), expected)


def test_a_saved_model_translates_as_the_translator(tmp_path):
    import tensorflow as tf

    model = randomize(small_model(position=RELATIVE, num_layers=1), scale=0.3)
    search = BeamSearch(num_beams=3)
    translator = Translator(model, toy_tokenizer(), search=search, max_length=12)
    translator.export(tmp_path / "1", warm_up=[])
    lines = sentences(4)
    loaded = tf.saved_model.load(str(tmp_path / "1"))
    found = loaded.signatures["serving_default"](text=tf.constant(lines))
    best = [hypotheses[0] for hypotheses in translator.n_best(lines)]
    texts = [text.decode() for text in found["translation"].numpy()]
    assert texts == [hypothesis.text for hypothesis in best]
    scores = [hypothesis.score for hypothesis in best]
    np.testing.assert_allclose(found["score"], scores, rtol=1e-4)
    translator.save(tmp_path / "translator.keras")
    again = Translator.load(tmp_path / "translator.keras")
    assert again(lines) == translator(lines)
