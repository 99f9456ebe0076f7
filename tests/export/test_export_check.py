"""The check of an exported folder, on small folders with a fault each."""

import runpy
import shutil
import sys

import pytest

from keras_transformer.export import check
from keras_transformer.export.warm_up import (
    WARM_UP,
    prediction_log,
    read_warm_up,
    write_warm_up,
)

pytestmark = pytest.mark.tensorflow_only


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A version with a variable, an asset and a signature of strings."""
    import tensorflow as tf

    folder = tmp_path_factory.mktemp("models") / "name"
    words = folder.with_name("words.txt")
    words.write_text("a\nb\n")
    module = tf.Module()
    module.weights = tf.Variable(tf.ones((5, 7)))
    module.words = tf.saved_model.Asset(str(words))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def count(text):
        sizes = tf.cast(tf.strings.length(text), tf.float32)[:, None]
        return {"score": sizes * module.weights[0], "file": text + module.words}

    signatures = {"serving_default": count}
    tf.saved_model.save(module, str(folder / "3"), signatures=signatures)
    write_warm_up(folder / "3", [["a", "b"], []])
    return folder


@pytest.fixture
def broken(sound, tmp_path):
    """Copies the sound version, and lets a function change its graph."""
    from tensorflow.core.protobuf import saved_model_pb2

    def change(function, name="1"):
        folder = tmp_path / name
        shutil.copytree(sound / "3", folder)
        file = folder / "saved_model.pb"
        model = saved_model_pb2.SavedModel.FromString(file.read_bytes())
        function(model.meta_graphs[0])
        file.write_bytes(model.SerializeToString())
        return check(folder)

    return change


def only_problem(report):
    assert not report.ok
    (problem,) = report.problems
    assert f"PROBLEM: {problem}" in str(report)
    return problem


def test_a_sound_version(sound):
    report = check(sound)
    assert report.path == sound / "3"
    assert report.ok
    assert report.problems == []
    assert list(report.signatures) == ["serving_default"]
    signature = report.signatures["serving_default"]
    assert [str(tensor) for tensor in signature.inputs] == ["text: string (batch,)"]
    outputs = [str(tensor) for tensor in signature.outputs]
    assert outputs == ["file: string (batch,)", "score: float32 (batch, 7)"]
    assert set(report.operations) == {"TensorFlow"}
    assert "StringLength" in report.operations["TensorFlow"]  # within a function
    assert [request.signature for request in report.warm_up] == ["serving_default"] * 2
    shapes = [request.inputs[0].shape for request in report.warm_up]
    assert shapes == [(2,), (0,)]
    assert 5 * 7 * 4 <= report.weight_bytes < 5 * 7 * 4 + 100
    assert report.weight_bytes < report.bytes
    assert "warm-up requests: 2 of serving_default" in str(report)


def test_the_newest_version_is_taken(sound, tmp_path):
    for version in ("9", "10", "new"):
        shutil.copytree(sound / "3", tmp_path / version)
    (tmp_path / "11").mkdir()
    assert check(tmp_path).path == tmp_path / "10"
    assert check(str(tmp_path / "9")).path == tmp_path / "9"


def test_folders_that_are_no_versions(tmp_path):
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(FileNotFoundError, match="`path` must be an exported"):
            check(path)
    (tmp_path / "saved_model.pb").write_bytes(b"\xff" * 9)
    with pytest.raises(ValueError, match="`path` must hold a SavedModel"):
        check(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"")
    with pytest.raises(ValueError, match=r"tag `serve`. Received: .* 0 graphs"):
        check(tmp_path)


def test_a_name_that_is_no_number(broken):
    report = broken(lambda graph: None, name="best")
    assert "Received: best" in only_problem(report)


def test_no_default_signature(broken):
    def rename(graph):
        graph.signature_def["other"].CopyFrom(graph.signature_def["serving_default"])
        del graph.signature_def["serving_default"]

    problems = broken(rename).problems
    assert "serving_default, which is missing. Received: other" in problems[0]
    assert "Warm-up request 0 asks for serving_default" in problems[1]


@pytest.mark.parametrize("size", [4, None])
def test_a_first_dimension_that_is_no_batch(broken, size):
    def fix(graph):
        score = graph.signature_def["serving_default"].outputs["score"]
        if size is None:
            score.tensor_shape.unknown_rank = True
            del score.tensor_shape.dim[:]
        else:
            score.tensor_shape.dim[0].size = size

    shown = "float32, any shape" if size is None else "float32 (4, 7)"
    assert f"Received: score: {shown}" in only_problem(broken(fix))


def test_a_tensor_without_dtype_and_one_that_is_sparse(broken):
    def spoil(graph):
        signature = graph.signature_def["serving_default"]
        signature.outputs["score"].dtype = 0
        signature.outputs["file"].coo_sparse.values_tensor_name = "x:0"

    problems = broken(spoil).problems
    assert any("`score` has no dtype" in problem for problem in problems)
    assert any("`file` is no plain tensor" in problem for problem in problems)


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        ("PyFunc", "run Python: PyFunc"),
        ("EagerPyFunc", "run Python: EagerPyFunc"),
        ("MyOwnOp", "no server is known to have: MyOwnOp"),
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_operations_that_a_server_lacks(broken, operation, words, inside):
    def add(graph):
        place = graph.graph_def.node
        if inside:
            place = graph.graph_def.library.function[0].node_def
        place.add(name="extra", op=operation)

    assert words in only_problem(broken(add))


def test_operations_of_tensorflow_text_are_known(broken):
    def add(graph):
        graph.graph_def.node.add(name="extra", op="SentencepieceTokenizeOp")

    report = broken(add)
    assert report.ok
    assert report.operations["TensorFlow Text"] == ["SentencepieceTokenizeOp"]
    assert "operations of TensorFlow Text: 1 (SentencepieceTokenizeOp)" in str(report)


@pytest.mark.parametrize("name", ["/etc/words.txt", "../words.txt", "gone.txt"])
def test_assets_that_are_not_there(broken, name):
    def move(graph):
        graph.asset_file_def[0].filename = name

    problem = only_problem(broken(move))
    assert name in problem
    assert ("missing" in problem) == (name == "gone.txt")


def test_lost_variables(sound, tmp_path):
    shutil.copytree(sound / "3", tmp_path / "1")
    shutil.rmtree(tmp_path / "1" / "variables")
    report = check(tmp_path)
    assert "The variables are missing" in only_problem(report)
    assert report.weight_bytes == 0


def written(folder, *records):
    import tensorflow as tf

    with tf.io.TFRecordWriter(str(folder / WARM_UP)) as writer:
        for record in records:
            writer.write(record)


def test_warm_up_requests_that_do_not_fit(sound, tmp_path):
    import tensorflow as tf

    folder = tmp_path / "1"
    shutil.copytree(sound / "3", folder)
    words = {"words": tf.make_tensor_proto(["a"])}
    text = {"text": tf.make_tensor_proto([1])}
    written(
        folder,
        prediction_log("serving_default", words),
        prediction_log("serving_default", text),
        prediction_log("other", text),
    )
    problems = check(folder).problems
    wanted = "must give {'text': 'string'}. Received"
    assert problems == [
        f"Warm-up request 0 {wanted}: {{'words': 'string'}}.",
        f"Warm-up request 1 {wanted}: {{'text': 'int32'}}.",
        "Warm-up request 2 asks for other, which is no signature.",
    ]


@pytest.mark.parametrize("record", [b"", b"a", b"\x32\x7f", b"\x32\x00", b"\x08\x01"])
def test_warm_up_records_of_another_kind(sound, tmp_path, record):
    folder = tmp_path / "1"
    shutil.copytree(sound / "3", folder)
    written(folder, record)
    with pytest.raises(ValueError, match="Warm-up records must be prediction req"):
        check(folder)


def test_a_warm_up_file_that_is_spoilt(sound, tmp_path):
    folder = tmp_path / "1"
    shutil.copytree(sound / "3", folder)
    file = folder / WARM_UP
    file.write_bytes(file.read_bytes().replace(b"text", b"test"))
    with pytest.raises(ValueError, match=r"must be a file of records. Received"):
        check(folder)
    file.unlink()
    assert read_warm_up(folder) == check(folder).warm_up == []


def run_module(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["x", *map(str, arguments)])
    monkeypatch.delitem(sys.modules, "keras_transformer.export.__main__", False)
    with pytest.raises(SystemExit) as exit_:
        runpy.run_module("keras_transformer.export", run_name="__main__")
    return exit_.value.code, capsys.readouterr()


def test_command_line(sound, tmp_path, monkeypatch, capsys):
    code, output = run_module(monkeypatch, capsys, sound)
    assert code == 0
    assert "takes text: string (batch,)" in output.out
    shutil.copytree(sound / "3", tmp_path / "best")
    assert run_module(monkeypatch, capsys, tmp_path / "best")[0] == 1
    code, output = run_module(monkeypatch, capsys, tmp_path / "none")
    assert code == 2
    assert output.err.count("\n") == 1
