"""The exported SavedModel against the translator that it came from."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from keras_transformer import GreedySearch, Sampling, Translator
from keras_transformer.export import check, export_saved_model
from keras_transformer.export.warm_up import WARM_UP
from tests.translators import (
    sentences,
    small_model,
    small_translator,
    toy_corpus,
    toy_tokenizer,
)

pytestmark = pytest.mark.tensorflow_only

LINES = [
    *sentences(4),
    "",
    "   ",
    "\u3000",
    "\t\u2028\x85\x1f\xa0",
    "Hi",
    "\U0001f600 emoji \u00e9 e\u0301",
    "\u0645\u0631\u062d\u0628\u0627",
    "a\x00b",
    " ".join(sentences(9)),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The translator, its folder and the loaded SavedModel."""
    import tensorflow as tf

    translator = small_translator(max_length=40)
    folder = tmp_path_factory.mktemp("models") / "es" / "1"
    translator.export(folder)
    return translator, folder, tf.saved_model.load(str(folder))


def translate(loaded, lines):
    import tensorflow as tf

    result = loaded.signatures["serving_default"](text=tf.constant(lines, tf.string))
    texts = [text.decode() for text in result["translation"].numpy()]
    return texts, result["score"].numpy()


def test_the_graph_has_no_operations_of_xla(served):
    from tensorflow.core.protobuf import saved_model_pb2

    proto = saved_model_pb2.SavedModel()
    proto.ParseFromString((served[1] / "saved_model.pb").read_bytes())
    graph = proto.meta_graphs[0].graph_def
    nodes = [*graph.node, *(n for f in graph.library.function for n in f.node_def)]
    names = {node.op for node in nodes}
    assert {"MatMul", "SelectV2"} <= names
    assert not [name for name in names if name.startswith("Xla")]


def test_text_to_text_equals_the_translator(served):
    translator, _, loaded = served
    texts, scores = translate(loaded, LINES)
    assert texts == translator(LINES)
    expected = [found[0].score for found in translator.n_best(LINES)]
    np.testing.assert_allclose(scores, expected, rtol=1e-4)


def test_rows_do_not_depend_on_each_other(served):
    loaded = served[2]
    together = translate(loaded, LINES)[0]
    assert together == [translate(loaded, [line])[0][0] for line in LINES]
    assert translate(loaded, LINES[::-1])[0] == together[::-1]


def test_an_empty_batch_gives_an_empty_batch(served):
    texts, scores = translate(served[2], [])
    assert texts == []
    assert scores.shape == (0,)


def test_ids_to_ids_equals_text_to_text_and_ignores_padding(served):
    import tensorflow as tf

    translator, _, loaded = served
    ids = [[*row, 1] for row in translator.tokenizer.tokenize(sentences(3))]
    width = max(map(len, ids))
    rows = np.array([row + [0] * (width - len(row)) for row in ids], "int32")
    function = loaded.signatures["translate_ids"]
    found = function(source_ids=tf.constant(rows))
    padded = function(source_ids=tf.constant(np.pad(rows, ((0, 0), (0, 5)))))
    np.testing.assert_array_equal(found["ids"], padded["ids"])
    np.testing.assert_allclose(found["score"], padded["score"], rtol=1e-5)
    assert (found["ids"].numpy()[:, 0] == 2).all()
    kept = [[int(i) for i in row if i > 2] for row in found["ids"].numpy()]
    assert translator.tokenizer.detokenize(kept) == translator(sentences(3))


def test_the_id_signature_needs_no_text_operations(served):
    def operations(name):
        graph = served[2].signatures[name].graph.as_graph_def()
        nodes = [*graph.node, *(n for f in graph.library.function for n in f.node_def)]
        return {node.op for node in nodes}

    assert any("Sentencepiece" in op for op in operations("serving_default"))
    ids = operations("translate_ids")
    assert not [op for op in ids if "Sentencepiece" in op or "Py" in op]


def test_the_score_signature_equals_the_translator(served):
    import tensorflow as tf

    translator, _, loaded = served
    sources, targets = zip(*toy_corpus().train[:3], strict=True)
    result = loaded.signatures["score"](
        text=tf.constant(sources), translation=tf.constant(targets)
    )
    expected = translator.score(list(sources), list(targets))
    np.testing.assert_allclose(result["log_probability"], expected, rtol=1e-4)
    lengths = [len(row) + 1 for row in translator.tokenizer.tokenize(list(targets))]
    assert result["length"].numpy().tolist() == lengths
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have the same len"):
        loaded.signatures["score"](
            text=tf.constant(sources), translation=tf.constant(targets[:1])
        )


def test_first_dimensions_are_the_batch(served):
    for name in ("serving_default", "translate_ids", "score"):
        function = served[2].signatures[name]
        specs = [
            *function.structured_input_signature[1].values(),
            *function.structured_outputs.values(),
        ]
        assert len(specs) >= 2
        assert all(spec.shape.rank and spec.shape[0] is None for spec in specs)


def test_it_runs_in_a_process_without_this_package(served):
    translator, folder, _ = served
    script = Path(__file__).parents[2] / "examples" / "translate_saved_model.py"
    blocked = (
        "import runpy, sys; sys.modules['keras_transformer'] = None; "
        "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    result = subprocess.run(
        [sys.executable, "-c", blocked, script, folder, *sentences(2)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    assert result.returncode == 0, result.stderr
    # What a model of random weights says may hold an end of line.
    assert result.stdout == "".join(f"{text}\n" for text in translator(sentences(2)))


def test_warm_up_records_are_requests_of_the_text_signature(served):
    import tensorflow as tf

    records = [
        record.numpy() for record in tf.data.TFRecordDataset(str(served[1] / WARM_UP))
    ]
    assert len(records) == 2
    texts = [_request_texts(record) for record in records]
    assert texts == [[b"Hello."], [b"Hello.", b"How are you?", b"", b"Good night."]]


def _request_texts(record):
    """Read a `PredictionLog` by the field numbers of TensorFlow Serving's messages."""
    import tensorflow as tf
    from tensorflow.core.framework import tensor_pb2

    request = _fields(_fields(_fields(record)[6][0])[1][0])
    assert _fields(request[1][0])[3] == [b"serving_default"]
    entry = _fields(request[2][0])
    assert entry[1] == [b"text"]
    return tf.make_ndarray(tensor_pb2.TensorProto.FromString(entry[2][0])).tolist()


def _fields(message):
    """Length-delimited fields of a protocol buffer, by number."""
    from google.protobuf.internal.decoder import _DecodeVarint as varint

    fields, position = {}, 0
    while position < len(message):
        key, position = varint(message, position)
        assert key & 7 == 2
        length, position = varint(message, position)
        fields.setdefault(key >> 3, []).append(message[position : position + length])
        position += length
    return fields


def test_an_existing_path_is_refused_and_left_alone(served):
    before = sorted(served[1].rglob("*"))
    with pytest.raises(FileExistsError, match="must not exist yet"):
        served[0].export(served[1])
    assert sorted(served[1].rglob("*")) == before


def test_a_failure_leaves_nothing_behind(tmp_path, monkeypatch):
    import tensorflow as tf

    def fail(*args, **options):
        raise OSError("disk full")

    monkeypatch.setattr(tf.saved_model, "save", fail)
    translator = small_translator(search=GreedySearch(), max_length=4)
    with pytest.raises(OSError, match="disk full"):
        translator.export(tmp_path / "es" / "1", warm_up=[])
    assert list((tmp_path / "es").iterdir()) == []


def test_other_tokenizers_are_refused(tmp_path):
    class Words:
        pass

    with pytest.raises(ValueError, match=r"SentencePiece tokenizer.*Words"):
        export_saved_model(
            tmp_path / "1", small_model(), Words(), search=GreedySearch()
        )


def test_a_folder_that_no_server_takes_for_a_version_is_reported(tmp_path, caplog):
    translator = small_translator(search=GreedySearch(), max_length=4)
    translator.export(tmp_path / "latest", warm_up=[])
    assert "whose name is a number" in caplog.text
    assert (tmp_path / "latest" / "saved_model.pb").is_file()


@pytest.mark.parametrize("warm_up", ["Hello", ["Hello"], 5])
def test_warm_up_requests_must_be_lists_of_strings(tmp_path, warm_up):
    with pytest.raises(TypeError, match="`warm_up` must be a list of"):
        small_translator().export(tmp_path / "1", warm_up=warm_up)


@pytest.mark.parametrize("search", [None, "beam"])
def test_what_is_no_search_is_refused(tmp_path, search):
    with pytest.raises(TypeError, match="`search` must be a search"):
        small_translator().export(tmp_path / "1", search=search)


def test_sampling_without_a_seed_is_refused(tmp_path):
    with pytest.raises(ValueError, match="`search` must have an integer seed"):
        small_translator(search=Sampling()).export(tmp_path / "1")


def test_a_text_too_long_for_the_positions_leaves_its_neighbours_alone(tmp_path):
    import tensorflow as tf

    model = small_model(position="learned", max_length=20)
    translator = Translator(model, toy_tokenizer(), search=GreedySearch())
    export_saved_model(
        tmp_path / "1",
        model,
        toy_tokenizer(),
        search=GreedySearch(),
        max_length=20,
        attention=True,
        warm_up=[],
    )
    loaded = tf.saved_model.load(str(tmp_path / "1"))
    lines = ["Yes", "?!" * 20]
    texts, scores = translate(loaded, lines)
    assert texts == [translator("Yes"), ""]
    assert np.isfinite(scores[0])
    assert scores[1] == -np.inf
    pairs = {"text": tf.constant(lines), "translation": tf.constant(lines)}
    found = loaded.signatures["score"](**pairs)["log_probability"].numpy()
    assert np.isfinite(found[0])
    assert found[1] == -np.inf
    found = loaded.signatures["attention"](**pairs)
    for name in ("encoder", "decoder", "cross"):
        assert np.isfinite(found[name]).all()
        assert found[name].numpy()[1].sum() == 0


TRAIN_ON_JAX = """
import sys
import keras, numpy as np
from tests.translators import small_translator, sentences
translator = small_translator(max_length=12)
ids = np.random.default_rng(0).integers(3, 300, (4, 5))
translator.model.compile("adam", "sparse_categorical_crossentropy")
translator.model.fit({"source_ids": ids, "target_ids": ids}, ids, verbose=0)
translator.save(sys.argv[1])
print(*translator(sentences(3)), sep="\\n", end="")
"""


def test_a_model_trained_on_jax_is_exported_on_tensorflow(tmp_path):
    import tensorflow as tf

    pytest.importorskip("jax")
    file = tmp_path / "jax.translator"
    paths = os.pathsep.join(sys.path)
    result = subprocess.run(
        [sys.executable, "-c", TRAIN_ON_JAX, file],
        capture_output=True,
        check=False,
        env={**os.environ, "KERAS_BACKEND": "jax", "PYTHONPATH": paths},
    )
    assert result.returncode == 0, result.stderr.decode()
    expected = result.stdout.decode().split("\n")
    translator = Translator.load(file)
    assert translator(sentences(3)) == expected
    translator.export(tmp_path / "1", warm_up=[["Hello."]])
    loaded = tf.saved_model.load(str(tmp_path / "1"))
    assert translate(loaded, sentences(3))[0] == expected


def test_the_check_finds_nothing_a_server_would_refuse(served):
    report = check(served[1].parent)
    assert report.problems == []
    tensors = {
        name: [*map(str, signature.inputs), *map(str, signature.outputs)]
        for name, signature in report.signatures.items()
    }
    assert tensors == {
        "serving_default": [
            "text: string (batch,)",
            "score: float32 (batch,)",
            "translation: string (batch,)",
        ],
        "translate_ids": [
            "source_ids: int32 (batch, ?)",
            "ids: int32 (batch, ?)",
            "score: float32 (batch,)",
        ],
        "score": [
            "text: string (batch,)",
            "translation: string (batch,)",
            "length: int32 (batch,)",
            "log_probability: float32 (batch,)",
        ],
    }
    assert list(report.operations) == ["TensorFlow", "TensorFlow Text"]
    assert len(report.warm_up) == 2
    assert report.weight_bytes > 0.9 * 4 * served[0].model.count_params()


def test_what_is_longer_than_the_limit_costs_nothing(tmp_path):
    import tensorflow as tf

    translator = small_translator(max_length=20)
    lines = sentences(3)
    lengths = [len(ids) + 1 for ids in translator.tokenizer.tokenize(lines)]
    limit = max(lengths)
    translator.export(tmp_path / "1", max_source_length=limit)
    loaded = tf.saved_model.load(str(tmp_path / "1"))
    long = " ".join(lines) + " and more"
    texts, scores = translate(loaded, [long, *lines, ""])
    assert texts == ["", *translator(lines), ""]
    assert scores[0] == -np.inf
    assert scores[-1] == 0
    assert np.isfinite(scores[1:]).all()
    assert translate(loaded, [long * 20_000])[1] == [-np.inf]  # a megabyte

    width = limit + 5
    ids = np.zeros((2, width), "int32")
    ids[0] = 7
    ids[1, : limit - 1], ids[1, limit - 1] = 7, 1
    found = loaded.signatures["translate_ids"](source_ids=tf.constant(ids))
    alone = loaded.signatures["translate_ids"](source_ids=tf.constant(ids[1:, :limit]))
    assert found["score"].numpy()[0] == -np.inf
    assert found["ids"].numpy()[0].tolist() == [2] + [0] * (found["ids"].shape[1] - 1)
    np.testing.assert_array_equal(found["ids"][1:], alone["ids"])

    score = loaded.signatures["score"]
    text, translation = [lines[0], long, lines[0]], [lines[1], lines[1], long]
    found = score(text=tf.constant(text), translation=tf.constant(translation))
    expected = translator.score(lines[:1], lines[1:2])
    np.testing.assert_allclose(found["log_probability"][0], expected[0], rtol=1e-4)
    assert found["log_probability"].numpy()[1:].tolist() == [-np.inf, -np.inf]


@pytest.mark.parametrize("length", [0, 2.5, None])
def test_a_wrong_limit_is_refused(tmp_path, length):
    with pytest.raises((ValueError, TypeError), match="`max_source_length`"):
        small_translator().export(tmp_path / "1", max_source_length=length)
    assert not (tmp_path / "1").exists()


def test_the_n_best_signature_equals_the_translator(tmp_path):
    import tensorflow as tf

    translator = small_translator(max_length=20)
    translator.export(tmp_path / "1", n_best=3, max_source_length=200)
    loaded = tf.saved_model.load(str(tmp_path / "1"))
    found = loaded.signatures["n_best"](text=tf.constant([*LINES, "word " * 500]))
    assert found["translation"].shape == found["score"].shape == (len(LINES) + 1, 3)
    expected = translator.n_best(LINES, 3)
    for row, hypotheses in enumerate(expected):
        texts = [text.decode() for text in found["translation"][row].numpy()]
        assert texts == [best.text for best in hypotheses] + [""] * (
            3 - len(hypotheses)
        )
        scores = [best.score for best in hypotheses]
        scores += [-np.inf] * (3 - len(hypotheses))
        np.testing.assert_allclose(found["score"][row], scores, rtol=1e-4)
    assert found["translation"][-1].numpy().tolist() == [b""] * 3
    assert found["score"][-1].numpy().tolist() == [-np.inf] * 3
    best = translate(loaded, LINES)[0]
    assert [text.decode() for text in found["translation"][:-1, 0].numpy()] == best
    assert check(tmp_path).ok


@pytest.mark.parametrize("n_best", [-1, 1.5, 4])
def test_a_wrong_number_of_translations_is_refused(tmp_path, n_best):
    with pytest.raises((ValueError, TypeError), match="`n_best` must be"):
        small_translator().export(tmp_path / "1", n_best=n_best)
    with pytest.raises(ValueError, match=r"`n_best` must be 1 with GreedySearch"):
        small_translator(search=GreedySearch()).export(tmp_path / "1", n_best=2)


def test_the_attention_signature_equals_the_translator(tmp_path):
    import tensorflow as tf

    translator = small_translator(max_length=40)
    translator.export(tmp_path / "1", attention=True)
    attend = tf.saved_model.load(str(tmp_path / "1")).signatures["attention"]
    text = [*sentences(2), "", "caf\u00e9 \U0001f600"]
    translation = ["Hola.", "", "\u00bfQu\u00e9?", "caf\u00e9"]
    long = [*text, "word " * 50, text[0]], [*translation, "Hola.", "word " * 50]
    found = attend(text=tf.constant(long[0]), translation=tf.constant(long[1]))
    assert {output.shape[0] for output in found.values()} == {6}
    for row, maps in enumerate(translator.attention(text, translation)):
        for name in ("source_tokens", "target_tokens", "predicted_tokens"):
            own = getattr(maps, name)
            served = [token.decode() for token in found[name][row].numpy()]
            assert served == own + [""] * (len(served) - len(own))
        for name in ("encoder", "decoder", "cross"):
            own = getattr(maps, name)
            (*_, queries, keys), served = own.shape, found[name][row].numpy()
            np.testing.assert_allclose(served[..., :queries, :keys], own, atol=1e-5)
            assert served.sum() == pytest.approx(own.sum(), rel=1e-5)
    for name, output in found.items():  # too long
        assert not np.any(output.numpy()[4:].astype(bool)), name
    none = tf.constant([], tf.string)
    assert {x.shape[0] for x in attend(text=none, translation=none).values()} == {0}
    assert check(tmp_path).ok
