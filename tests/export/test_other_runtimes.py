"""Encoder and step in ONNX Runtime and LiteRT against the Keras model."""

import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_transformer import GreedySearch
from keras_transformer.decoding import SequenceGenerator
from keras_transformer.export import export_litert, export_onnx
from tests.backends import assert_close
from tests.export.runtimes import (
    LENGTHS,
    MODELS,
    LiteRT,
    Onnx,
    greedy,
    random_model,
    random_sources,
    random_targets,
    read,
)
from tests.test_readme import python_blocks

# Keras repairs tf2onnx for NumPy 2, which warns of the name that it looks for.
pytestmark = pytest.mark.filterwarnings("ignore:In the future `np.object`")
on_tensorflow = pytest.mark.tensorflow_only
elsewhere = pytest.mark.skipif(
    keras.backend.backend() == "tensorflow", reason="works there"
)
needs_newest_keras = pytest.mark.skipif(
    tuple(map(int, keras.__version__.split(".")[:2])) < (3, 15),
    reason="Keras leaves LiteRT's batch free, which takes operations of TensorFlow",
)
RUNTIMES = [Onnx, pytest.param(LiteRT, marks=needs_newest_keras)]
EXPORTS = [export_onnx, pytest.param(export_litert, marks=needs_newest_keras)]


@pytest.fixture(scope="module", params=MODELS.values(), ids=MODELS)
def model(request):
    """A model and its number of target positions."""
    options = dict(request.param)
    max_length = options.pop("max_target")
    return random_model(**options), max_length


@pytest.fixture(scope="module", params=RUNTIMES)
def runtime(model, request, tmp_path_factory):
    """The two files in a runtime."""
    folder = tmp_path_factory.mktemp("models") / "model"
    runtime = request.param(folder, *model)
    assert {file.stem for file in folder.iterdir()} == {"encoder", "step"}
    return runtime


@on_tensorflow
def test_the_encoder_gives_what_start_gives(model, runtime):
    model, max_length = model
    source_ids = random_sources()
    (_, caches), shared = model.start(source_ids, max_length)
    expected = {"source_mask": shared["padding_mask"]}
    for i, cache in enumerate(caches):
        for part in ("key", "value"):
            for j, block in enumerate(cache[part]):
                expected[f"self_{part}_{i}_{j}"] = block
            expected[f"cross_{part}_{i}_0"] = shared["cross"][i][part][0]
    found = runtime.encode({"source_ids": source_ids})
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert_close(found[name], tensor, message=name)
        assert found[name].shape == tuple(tensor.shape)


@on_tensorflow
def test_steps_equal_the_logits_of_whole_targets(model, runtime):
    model, max_length = model
    target_ids = random_targets(model, max_length)
    for source_ids in (random_sources(), random_sources()[:, :5]):
        expected = model({"source_ids": source_ids, "target_ids": target_ids})
        assert_close(
            read(runtime.encode, runtime.step, source_ids, target_ids), expected
        )


@on_tensorflow
def test_a_greedy_search_finds_the_same(model, runtime):
    model, max_length = model
    source_ids = random_sources()
    found = greedy(runtime.encode, runtime.step, source_ids, max_length)
    generator = SequenceGenerator(model, GreedySearch(), max_length)
    expected = generator.predict_on_batch(source_ids)
    np.testing.assert_array_equal(found, expected["ids"][:, 0])
    assert set(expected["finished"][:, 0].tolist()) == {False, True}


@on_tensorflow
@pytest.mark.parametrize("wrong", [{"index": 99}, {"token_ids": 99}])
def test_positions_and_ids_out_of_range_are_errors(runtime, wrong):
    inputs = {"token_ids": np.full(len(LENGTHS), 2, "int32"), "index": np.int32(0)}
    inputs |= runtime.encode({"source_ids": random_sources()})
    for name, value in wrong.items():
        inputs[name] = np.full_like(inputs[name], value)
    with pytest.raises(Exception, match=r"out of (data )?bounds"):
        runtime.step(inputs)


@on_tensorflow
def test_the_batch_is_free_in_onnx(tmp_path):
    model = random_model()
    runtime = Onnx(tmp_path / "model", model, 4)
    for rows in (1, 9):
        found = runtime.encode({"source_ids": np.full((rows, 4), 5, "int32")})
        token_ids = np.full((rows,), 2, "int32")
        found = runtime.step({"token_ids": token_ids, "index": np.int32(0), **found})
        assert found["logits"].shape == (rows, model.target_vocabulary_size)


@on_tensorflow
def test_what_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tf2onnx", None)
    with pytest.raises(ImportError, match="pip install tf2onnx"):
        export_onnx(tmp_path / "model", random_model())
    assert list(tmp_path.iterdir()) == []


@on_tensorflow
@pytest.mark.parametrize("options", [{"num_key_value_heads": 1}, {"num_heads": 1}])
def test_onnx_refuses_a_single_key_head(tmp_path, options):
    pytest.importorskip("tf2onnx")
    with pytest.raises(ValueError, match="two key and value heads"):
        export_onnx(tmp_path / "model", random_model(**options))


@on_tensorflow
@pytest.mark.parametrize("export", EXPORTS)
def test_what_cannot_be_written_is_refused(tmp_path, export):
    if export is export_onnx:
        pytest.importorskip("tf2onnx")
    with pytest.raises(FileExistsError, match="`path` must not exist yet"):
        export(tmp_path, random_model())
    path, half = tmp_path / "model", random_model(dtype="mixed_bfloat16")
    with pytest.raises(ValueError, match=r"policy float32.*Received: mixed_bfloat16"):
        export(path, half)
    learned = random_model(position="learned", max_length=8)
    for length, message in ((0, "must be"), (9, "must not exceed the model's 8 pos")):
        with pytest.raises(ValueError, match=f"`max_length` {message}"):
            export(path, learned, max_length=length)
    assert list(tmp_path.iterdir()) == []


@on_tensorflow
@needs_newest_keras
def test_what_litert_cannot_take_is_refused(tmp_path):
    model = random_model()
    with pytest.raises((ValueError, TypeError), match="`batch_size` must be"):
        export_litert(tmp_path / "model", model, batch_size=1.5)
    model.quantize("int8")
    with pytest.raises(ValueError, match="`model` must not be quantized"):
        export_litert(tmp_path / "model", model)


@on_tensorflow
def test_operations_that_onnx_lacks_are_named(tmp_path):
    pytest.importorskip("tf2onnx")
    model = random_model(activation="gelu")
    with pytest.raises(ValueError, match=r"that ONNX has\. Received: Erfc in"):
        export_onnx(tmp_path / "model", model, max_length=4)
    assert list(tmp_path.iterdir()) == []


@on_tensorflow
@pytest.mark.parametrize("export", EXPORTS)
def test_a_failure_leaves_nothing_behind(tmp_path, monkeypatch, export):
    def fail(self, path, **options):
        raise OSError("disk full")

    if export is export_onnx:
        pytest.importorskip("tf2onnx")
    monkeypatch.setattr(keras.Model, "export", fail)
    with pytest.raises(OSError, match="disk full"):
        export(tmp_path / "model", random_model(), max_length=4)
    assert list(tmp_path.iterdir()) == []


@on_tensorflow
@needs_newest_keras
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


@elsewhere
@pytest.mark.parametrize("export", [export_onnx, export_litert])
def test_another_backend_is_refused(tmp_path, export):
    with pytest.raises(RuntimeError, match=r"`export_\w+` runs on the TensorFlow"):
        export(tmp_path / "model", random_model())
