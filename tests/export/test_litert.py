"""Encoder and step in LiteRT against the Keras model."""

from pathlib import Path

import keras
import numpy as np
import pytest

from keras_transformer.export import export_litert
from tests.backends import assert_close
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
from tests.test_readme import python_blocks


class Runtime:
    """The two files as functions from and to dictionaries of arrays."""

    def __init__(self, folder):
        litert = pytest.importorskip("ai_edge_litert.interpreter")
        self.runners = {
            name: litert.Interpreter(str(folder / f"{name}.tflite"))
            for name in ("encoder", "step")
        }

    def encode(self, inputs):
        return self.runners["encoder"].get_signature_runner()(**inputs)

    def step(self, inputs):
        return self.runners["step"].get_signature_runner()(**inputs)


needs_newest_keras = pytest.mark.skipif(
    tuple(map(int, keras.__version__.split(".")[:2])) < (3, 15),
    reason="Keras leaves the batch free, which takes operations of TensorFlow",
)


@pytest.fixture(scope="module", params=MODELS.values(), ids=MODELS)
def exported(request, tmp_path_factory):
    """A model, its number of target positions, and the two files in the runtime."""
    options = dict(request.param)
    max_length, model = options.pop("max_target"), random_model(**options)
    folder = tmp_path_factory.mktemp("litert") / "model"
    export_litert(folder, model, max_length=max_length, batch_size=len(LENGTHS))
    assert {file.name for file in folder.iterdir()} == {"encoder.tflite", "step.tflite"}
    return model, max_length, Runtime(folder)


@pytest.mark.tensorflow_only
@needs_newest_keras
def test_the_encoder_gives_what_start_gives(exported):
    model, max_length, runtime = exported
    source_ids = random_sources()
    found = runtime.encode({"source_ids": source_ids})
    assert_starts_alike(model, max_length, source_ids, found)


@pytest.mark.tensorflow_only
@needs_newest_keras
def test_steps_equal_the_logits_of_whole_targets(exported):
    model, max_length, runtime = exported
    target_ids = random_targets(model, max_length)
    for source_ids in (random_sources(), random_sources()[:, :5]):
        assert_steps_alike(model, runtime.encode, runtime.step, source_ids, target_ids)


@pytest.mark.tensorflow_only
@needs_newest_keras
def test_a_greedy_search_finds_the_same(exported):
    model, max_length, runtime = exported
    assert_decodes_alike(
        model, max_length, runtime.encode, runtime.step, random_sources()
    )


@pytest.mark.tensorflow_only
@needs_newest_keras
@pytest.mark.parametrize("wrong", [{"index": 99}, {"index": -1}, {"token_ids": 99}])
def test_positions_and_ids_out_of_range_are_errors(exported, wrong):
    _, _, runtime = exported
    inputs = {"token_ids": np.full(len(LENGTHS), 2, "int32"), "index": np.int32(0)}
    inputs |= runtime.encode({"source_ids": random_sources()})
    for name, value in wrong.items():
        inputs[name] = np.full_like(inputs[name], value)
    with pytest.raises(RuntimeError, match="gather index out of bounds"):
        runtime.step(inputs)


@pytest.mark.tensorflow_only
@needs_newest_keras
def test_an_existing_path_is_refused(tmp_path):
    with pytest.raises(FileExistsError, match="`path` must not exist yet"):
        export_litert(tmp_path, random_model())


@pytest.mark.tensorflow_only
@needs_newest_keras
def test_another_dtype_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"policy float32.*Received: mixed_bfloat16"):
        export_litert(tmp_path / "model", random_model(dtype="mixed_bfloat16"))


@pytest.mark.tensorflow_only
@needs_newest_keras
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_length": 0}, "`max_length` must be"),
        ({"max_length": 9}, "`max_length` must not exceed the model's 8 positions"),
        ({"batch_size": 1.5}, "`batch_size` must be"),
    ],
)
def test_wrong_sizes_are_refused(tmp_path, options, message):
    model = random_model(position="learned", max_length=8)
    with pytest.raises((ValueError, TypeError), match=message):
        export_litert(tmp_path / "model", model, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.tensorflow_only
@needs_newest_keras
def test_a_failure_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail(self, path, **options):
        raise OSError("disk full")

    monkeypatch.setattr(keras.Model, "export", fail)
    with pytest.raises(OSError, match="disk full"):
        export_litert(tmp_path / "model", random_model(), max_length=4)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.tensorflow_only
@needs_newest_keras
@pytest.mark.filterwarnings("ignore:In the future `np.object`")  # as in test_onnx
def test_the_section_on_other_runtimes_runs(tmp_path, monkeypatch):
    for module in ("tf2onnx", "onnxruntime", "ai_edge_litert"):
        pytest.importorskip(module)
    page = Path(__file__).parents[2] / "docs" / "serving.md"
    section = page.read_text(encoding="utf-8").split("## Other runtimes")[1]
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "page"}
    for _, code in python_blocks(section.split("\n## ")[0]):
        exec(code, namespace)
    assert namespace["target_ids"].shape[0] == 2
    logits = namespace["found"]["logits"]
    assert logits.shape == (1, 100)
    ids = {"source_ids": namespace["source_ids"][:1], "target_ids": np.array([[2]])}
    assert_close(logits, namespace["model"](ids)[:, 0])


@pytest.mark.skipif(keras.backend.backend() == "tensorflow", reason="works there")
def test_another_backend_is_refused(tmp_path):
    with pytest.raises(RuntimeError, match="`export_litert` runs on the TensorFlow"):
        export_litert(tmp_path / "model", random_model())
