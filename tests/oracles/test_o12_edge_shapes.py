"""O12: empty, short and all-padding batches; unknown batch and lengths."""

import keras
import numpy as np
import pytest

from keras_transformer import SmoothedCrossEntropy, TokenAccuracy
from tests.backends import BACKEND, array_of
from tests.models.small import inputs_of, small_transformer

RNG = np.random.default_rng(12)


def ids(*shape):
    return RNG.integers(3, 20, size=shape).astype("int32")


ROW_OF_PADDING = ids(2, 4)
ROW_OF_PADDING[1] = 0
PAIRS = {
    "one token": (ids(2, 1), ids(2, 1)),
    "source 7, target 3": (ids(2, 7), ids(2, 3)),
    "source 3, target 7": (ids(2, 3), ids(2, 7)),
    "a row of padding": (ROW_OF_PADDING, ROW_OF_PADDING),
    "source of padding only": (np.zeros((2, 4), "int32"), ids(2, 4)),
    "target of padding only": (ids(2, 4), np.zeros((2, 4), "int32")),
    "padding only": (np.zeros((2, 4), "int32"), np.zeros((2, 4), "int32")),
}
EMPTY = {
    "no source token": (ids(2, 0), ids(2, 3)),
    "no target token": (ids(2, 3), ids(2, 0)),
    "no token": (ids(2, 0), ids(2, 0)),
    "batch 0": (ids(0, 4), ids(0, 3)),
}


def model_of(normalize_first=False):
    return small_transformer(num_layers=1, normalize_first=normalize_first)


def test_unknown_batch_and_lengths():
    model = model_of()
    assert model.output_shape == (None, None, 20)
    for layer in model.layers:
        outputs = layer.output if isinstance(layer.output, list) else [layer.output]
        for output in outputs:
            assert output.shape[:2] == (None, None), layer.name


@pytest.mark.parametrize("normalize_first", [False, True])
def test_right_shapes_and_finite_outputs(normalize_first):
    model = model_of(normalize_first)
    for name, (source, target) in {**PAIRS, **EMPTY}.items():
        logits = array_of(model(inputs_of(source, target)))
        assert logits.shape == (*target.shape, 20), name
        assert np.isfinite(logits).all(), name


def test_predict():
    model = model_of()
    for name in ("one token", "source 7, target 3", "padding only"):
        source, target = PAIRS[name]
        logits = model.predict(inputs_of(source, target), verbose=0)
        assert logits.shape == (*target.shape, 20), name
        assert np.isfinite(logits).all(), name


def test_fit_step_on_each():
    model = model_of()
    model.compile(
        keras.optimizers.SGD(0.1), SmoothedCrossEntropy(0.1),
        metrics=[TokenAccuracy()], jit_compile=BACKEND == "jax",
    )  # fmt: skip
    for name, (source, target) in PAIRS.items():
        logs = model.fit(inputs_of(source, target), target, verbose=0).history
        assert np.isfinite(logs["loss"]).all(), name
        for weight in model.weights:
            assert np.isfinite(array_of(weight)).all(), (name, weight.path)


def test_padding_only_moves_no_weight():
    model = model_of()
    model.compile(
        keras.optimizers.SGD(1.0), SmoothedCrossEntropy(0.1),
        jit_compile=BACKEND == "jax",
    )  # fmt: skip
    before = [array_of(weight).copy() for weight in model.trainable_weights]
    source, target = PAIRS["padding only"]
    logs = model.fit(inputs_of(source, target), target, verbose=0).history
    assert logs["loss"] == [0.0]
    for old, new in zip(before, model.trainable_weights, strict=True):
        np.testing.assert_array_equal(array_of(new), old)
