"""With 6 + 6 layers, what stands at padding reaches no real logit."""

import keras
import numpy as np
import pytest

from keras_transformer import SmoothedCrossEntropy, Transformer
from tests.backends import array_of, assert_close

SOURCE = np.array([[3, 4, 5, 0, 0], [6, 7, 8, 9, 2]], "int32")
TARGET = np.array([[2, 5, 6], [2, 7, 0]], "int32")
LABELS = np.array([[5, 6, 1], [7, 1, 0]], "int32")
REAL = TARGET > 0


def deep_model(normalize_first=False, num_layers=6):
    return Transformer(
        20,
        num_layers=num_layers,
        hidden_dim=16,
        num_heads=2,
        intermediate_dim=24,
        dropout=0.0,
        normalize_first=normalize_first,
        tie_embeddings="none",
    )


def spoil_padding(model):
    """Put 99 at the embedding of padding, of both sides."""
    for embedding in (model.parts.source_embedding, model.parts.target_embedding):
        table = array_of(embedding.embeddings).copy()
        table[0] = 99.0
        embedding.embeddings.assign(table)


def inputs(pads=0):
    source = np.pad(SOURCE, ((0, 0), (0, pads)))
    return {"source_ids": source, "target_ids": TARGET}


@pytest.mark.parametrize("normalize_first", [False, True])
def test_eager_and_predict(normalize_first):
    model = deep_model(normalize_first)
    before = array_of(model(inputs()))[REAL]
    spoil_padding(model)
    assert_close(array_of(model(inputs()))[REAL], before)
    assert_close(array_of(model(inputs(pads=4)))[REAL], before)
    assert_close(model.predict(inputs(pads=4), verbose=0)[REAL], before)


def test_saved_and_loaded(tmp_path):
    model = deep_model()
    before = array_of(model(inputs()))[REAL]
    spoil_padding(model)
    model.save(tmp_path / "deep.keras")
    loaded = keras.saving.load_model(tmp_path / "deep.keras")
    assert_close(array_of(loaded(inputs(pads=4)))[REAL], before)


def test_fit_takes_the_same_step():
    losses, weights = [], []
    for spoiled in (False, True):
        keras.utils.set_random_seed(1)
        model = deep_model(num_layers=3)
        if spoiled:
            spoil_padding(model)
        model.compile("sgd", SmoothedCrossEntropy(0.1))
        history = model.fit(inputs(4 * spoiled), LABELS, epochs=2, verbose=0).history
        losses.append(history["loss"])
        weights.append([array_of(weight) for weight in model.trainable_variables])
    assert_close(losses[1], losses[0])
    changed = 0
    for clean, spoiled in zip(*weights, strict=True):
        if clean.shape == (20, 16):  # an embedding, whose row 0 was spoiled
            clean, spoiled, changed = clean[1:], spoiled[1:], changed + 1
        assert_close(spoiled, clean)
    assert changed == 3


@pytest.mark.tensorflow_only
def test_exported(tmp_path):
    import tensorflow as tf

    model = deep_model()
    before = array_of(model(inputs()))[REAL]
    spoil_padding(model)
    model.export(tmp_path / "deep", verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "deep"))
    exported = loaded.serve({key: tf.constant(v) for key, v in inputs(pads=4).items()})
    assert_close(exported.numpy()[REAL], before)
