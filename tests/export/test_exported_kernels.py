"""Translators with other attention functions as SavedModels."""

import pytest

from keras_transformer import GreedySearch, Translator
from keras_transformer.attention import blockwise, linear_sums
from tests.translators import sentences, small_model, toy_tokenizer

pytestmark = pytest.mark.tensorflow_only


@pytest.mark.parametrize("name", ["blockwise", "linear"])
def test_exported_equals_the_translator(name, tmp_path, monkeypatch):
    import tensorflow as tf
    from tensorflow.core.protobuf import saved_model_pb2

    monkeypatch.setattr(blockwise, "BLOCK", 4)
    monkeypatch.setattr(linear_sums, "CHUNK", 4)
    translator = Translator(
        small_model(attention=name, num_layers=1),
        toy_tokenizer(),
        search=GreedySearch(),
        max_length=12,
    )
    translator.export(tmp_path / "1")
    loaded = tf.saved_model.load(str(tmp_path / "1"))
    lines = [*sentences(3), ""]
    found = loaded.signatures["serving_default"](text=tf.constant(lines))
    texts = [text.decode() for text in found["translation"].numpy()]
    assert texts == translator(lines)
    proto = saved_model_pb2.SavedModel()
    proto.ParseFromString((tmp_path / "1" / "saved_model.pb").read_bytes())
    graph = proto.meta_graphs[0].graph_def
    nodes = [*graph.node, *(n for f in graph.library.function for n in f.node_def)]
    assert not [node.op for node in nodes if node.op.startswith(("Xla", "Py"))]
