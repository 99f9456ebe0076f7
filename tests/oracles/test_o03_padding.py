"""O3: padding reaches no real position, in any layer, on any path."""

import keras
import numpy as np
import pytest

from keras_transformer import Transformer
from tests.backends import array_of, assert_close
from tests.models.small import REAL, SOURCE, TARGET, inputs_of, small_transformer

PADDED_SOURCE = np.pad(SOURCE, ((0, 0), (0, 4)))
PADDED_TARGET = np.pad(TARGET, ((0, 0), (0, 2)))


def model_of(**options):
    options = {"tie_embeddings": "none", "position": None, **options}
    return small_transformer(**options)


def set_padding_rows(model, value):
    """Fill row 0, the one of padding, of the embeddings that are read."""
    for layer in (model.parts.source_embedding, model.parts.target_embedding):
        table = array_of(layer.embeddings).copy()
        table[0] = value
        layer.embeddings.assign(table)


def changed(run):
    """Logits of four batches whose real tokens are those of SOURCE and TARGET."""
    rows = [run(inputs_of(SOURCE[i : i + 1], TARGET[i : i + 1])) for i in range(2)]
    return {
        "(a) pads appended to the source": run(inputs_of(PADDED_SOURCE)),
        "pads appended to the target": run(inputs_of(SOURCE, PADDED_TARGET))[:, :3],
        "pads appended to both": run(inputs_of(PADDED_SOURCE, PADDED_TARGET))[:, :3],
        "(c) each row alone": np.concatenate(rows),
    }


def check(run, model):
    expected = run(inputs_of())[REAL]
    for name, logits in changed(run).items():
        assert_close(logits[REAL], expected, message=name)
    set_padding_rows(model, 99.0)
    assert_close(run(inputs_of())[REAL], expected)


@pytest.mark.parametrize("position", ["sinusoidal", None])
@pytest.mark.parametrize("normalize_first", [False, True])
def test_eager(position, normalize_first):
    model = model_of(position=position, normalize_first=normalize_first)
    check(lambda inputs: array_of(model(inputs)), model)


def test_predict():
    model = model_of()
    check(lambda inputs: model.predict(inputs, verbose=0), model)


def test_saved_and_loaded(tmp_path):
    model = model_of()
    expected = array_of(model(inputs_of()))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert type(loaded) is Transformer
    np.testing.assert_array_equal(array_of(loaded(inputs_of())), expected)
    check(lambda inputs: array_of(loaded(inputs)), loaded)


@pytest.mark.tensorflow_only
def test_exported(tmp_path):
    import tensorflow as tf

    model = model_of()
    expected = array_of(model(inputs_of()))[REAL]
    for value in (None, 99.0):
        if value is not None:
            set_padding_rows(model, value)
        path = str(tmp_path / f"export_{value}")
        model.export(path, verbose=False)
        loaded = tf.saved_model.load(path)

        def run(inputs, loaded=loaded):
            return array_of(
                loaded.serve({k: tf.constant(v) for k, v in inputs.items()})
            )

        assert_close(run(inputs_of())[REAL], expected)
        for logits in changed(run).values():
            assert_close(logits[REAL], expected)


@pytest.mark.parametrize("normalize_first", [False, True])
def test_every_layer_holds(normalize_first):
    model = model_of(normalize_first=normalize_first)
    names = [f"{side}_block_{i}" for side in ("encoder", "decoder") for i in range(3)]
    depths = keras.Model(
        model.inputs, {name: model.get_layer(name).output for name in names}
    )
    before = {k: array_of(v) for k, v in depths(inputs_of()).items()}
    set_padding_rows(model, 99.0)
    after = {k: array_of(v) for k, v in depths(inputs_of()).items()}
    for name in names:
        real = SOURCE != 0 if "encoder" in name else REAL
        assert_close(after[name][real], before[name][real], message=name)
        if normalize_first and "encoder" in name:
            assert np.abs(after[name][~real] - before[name][~real]).max() > 1


def test_tied_table_moves_only_the_logit_of_padding_itself():
    model = model_of(tie_embeddings="all")
    expected = array_of(model(inputs_of()))[REAL]
    set_padding_rows(model, 99.0)
    logits = array_of(model(inputs_of()))[REAL]
    assert_close(logits[:, 1:], expected[:, 1:])
    assert np.abs(logits[:, 0] - expected[:, 0]).max() > 1


def test_another_pad_id():
    model = model_of(pad_id=19)
    source, target = (np.where(ids == 0, 19, ids) for ids in (SOURCE, TARGET))
    expected = array_of(model(inputs_of(source, target)))[REAL]
    longer = np.pad(source, ((0, 0), (0, 4)), constant_values=19)
    assert_close(array_of(model(inputs_of(longer, target)))[REAL], expected)
