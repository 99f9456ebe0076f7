"""Encoder and step in ONNX Runtime against the Keras model."""

import sys

import keras
import numpy as np
import pytest

from keras_transformer.export import export_onnx
from tests.export.runtimes import (
    LENGTHS,
    MODELS,
    assert_decodes_alike,
    assert_starts_alike,
    assert_steps_alike,
    random_model,
    random_sources,
    random_targets,
)

# Keras repairs tf2onnx for NumPy 2, which warns of the name that it looks for.
pytestmark = pytest.mark.filterwarnings("ignore:In the future `np.object`")


class Runtime:
    """The two files as functions from and to dictionaries of arrays."""

    def __init__(self, folder):
        onnxruntime = pytest.importorskip("onnxruntime")
        self.sessions = {
            name: onnxruntime.InferenceSession(folder / f"{name}.onnx")
            for name in ("encoder", "step")
        }

    def encode(self, inputs):
        return self._run("encoder", inputs)

    def step(self, inputs):
        return self._run("step", inputs)

    def _run(self, name, inputs):
        session = self.sessions[name]
        inputs = {name: np.asarray(array) for name, array in inputs.items()}
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, inputs), strict=True))


@pytest.fixture(scope="module", params=MODELS.values(), ids=MODELS)
def exported(request, tmp_path_factory):
    """A model, its number of target positions, and the two files in the runtime."""
    pytest.importorskip("tf2onnx")
    options = dict(request.param)
    max_length, model = options.pop("max_target"), random_model(**options)
    folder = tmp_path_factory.mktemp("onnx") / "model"
    export_onnx(folder, model, max_length=max_length)
    assert {file.name for file in folder.iterdir()} == {"encoder.onnx", "step.onnx"}
    return model, max_length, Runtime(folder)


@pytest.mark.tensorflow_only
def test_the_encoder_gives_what_start_gives(exported):
    model, max_length, runtime = exported
    source_ids = random_sources()
    found = runtime.encode({"source_ids": source_ids})
    assert_starts_alike(model, max_length, source_ids, found)


@pytest.mark.tensorflow_only
def test_steps_equal_the_logits_of_whole_targets(exported):
    model, max_length, runtime = exported
    target_ids = random_targets(model, max_length)
    for source_ids in (random_sources(), random_sources()[:, :5]):
        assert_steps_alike(model, runtime.encode, runtime.step, source_ids, target_ids)


@pytest.mark.tensorflow_only
def test_a_greedy_search_finds_the_same(exported):
    model, max_length, runtime = exported
    assert_decodes_alike(
        model, max_length, runtime.encode, runtime.step, random_sources()
    )


@pytest.mark.tensorflow_only
def test_the_batch_is_free(exported):
    model, _, runtime = exported
    for rows in (1, 9):
        found = runtime.encode({"source_ids": np.full((rows, 4), 5, "int32")})
        token_ids = np.full((rows,), 2, "int32")
        found = runtime.step({"token_ids": token_ids, "index": np.int32(0), **found})
        assert found["logits"].shape == (rows, model.target_vocabulary_size)


@pytest.mark.tensorflow_only
@pytest.mark.parametrize("wrong", [{"index": 99}, {"token_ids": 99}])
def test_positions_and_ids_out_of_range_are_errors(exported, wrong):
    _, _, runtime = exported
    inputs = {"token_ids": np.full(len(LENGTHS), 2, "int32"), "index": np.int32(0)}
    inputs |= runtime.encode({"source_ids": random_sources()})
    for name, value in wrong.items():
        inputs[name] = np.full_like(inputs[name], value)
    with pytest.raises(Exception, match="out of data bounds"):
        runtime.step(inputs)


@pytest.mark.tensorflow_only
def test_what_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tf2onnx", None)
    with pytest.raises(ImportError, match="pip install tf2onnx"):
        export_onnx(tmp_path / "model", random_model())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.tensorflow_only
@pytest.mark.parametrize("options", [{"num_key_value_heads": 1}, {"num_heads": 1}])
def test_a_single_key_head_is_refused(tmp_path, options):
    pytest.importorskip("tf2onnx")
    with pytest.raises(ValueError, match="two key and value heads"):
        export_onnx(tmp_path / "model", random_model(**options))


@pytest.mark.skipif(keras.backend.backend() == "tensorflow", reason="works there")
def test_another_backend_is_refused(tmp_path):
    with pytest.raises(RuntimeError, match="`export_onnx` runs on the TensorFlow"):
        export_onnx(tmp_path / "model", random_model())
