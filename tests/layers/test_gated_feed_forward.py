"""Gated activations, and dropout between the maps."""

import math

import keras
import numpy as np
import pytest

from keras_transformer import DecoderBlock, EncoderBlock, FeedForward
from tests.attention.formulas import weight
from tests.backends import array_of, assert_close, randomize
from tests.layers.check_layer import check_layer

RNG = np.random.default_rng(21)
X = RNG.normal(size=(2, 5, 8)).astype("float32")
MEMORY = RNG.normal(size=(2, 3, 6)).astype("float32")
GATES = {
    "swiglu": lambda x: x / (1 + np.exp(-x)),
    "geglu": lambda x: x * (1 + np.vectorize(math.erf)(x / np.sqrt(2))) / 2,
    "reglu": lambda x: np.maximum(x, 0),
}
each_gate = pytest.mark.parametrize("name", GATES)


@each_gate
@pytest.mark.parametrize("use_bias", [False, True])
def test_formula(name, use_bias):
    layer = FeedForward(11, activation=name, use_bias=use_bias)
    layer.build(X.shape)
    randomize(layer)

    def mapped(part, x):
        bias = weight(part.bias) if use_bias else 0
        return x @ weight(part.kernel) + bias

    inner = GATES[name](mapped(layer.gate, X)) * mapped(layer.intermediate, X)
    assert_close(layer(X), mapped(layer.output_dense, inner))


@each_gate
def test_contract(name, tmp_path):
    options = {
        "intermediate_dim": 10, "activation": name, "dropout": 0.1,
        "use_bias": False, "seed": 11,
        "kernel_initializer": keras.initializers.RandomNormal(stddev=0.3, seed=3),
        "bias_initializer": keras.initializers.RandomNormal(stddev=0.2),
    }  # fmt: skip
    check_layer(FeedForward, options, (X,), parameters=240, path=tmp_path)


def test_an_unknown_name_is_refused():
    for make in (lambda: FeedForward(4, activation="glu2"), lambda: EncoderBlock(
        2, 4, activation="glu2"
    )):  # fmt: skip
        with pytest.raises(ValueError, match="glu2"):
            make()


def test_weights_are_named_by_what_they_do():
    layer = FeedForward(5, activation="swiglu")
    layer.build(X.shape)
    shapes = {w.path.split("/", 1)[1]: tuple(w.shape) for w in layer.weights}
    assert shapes == {
        "intermediate/kernel": (8, 5), "intermediate/bias": (5,),
        "gate/kernel": (8, 5), "gate/bias": (5,),
        "output/kernel": (5, 8), "output/bias": (8,),
    }  # fmt: skip


def test_an_activation_is_still_any_function():
    layer = FeedForward(5, activation=keras.ops.square)
    plain = FeedForward(5, activation="linear")
    plain.build(X.shape)
    layer.build(X.shape)
    layer.set_weights([np.abs(w) for w in plain.get_weights()])
    inner = (X @ weight(layer.intermediate.kernel)) ** 2
    assert_close(layer(X), inner @ weight(layer.output_dense.kernel))


@pytest.mark.parametrize("activation", ["relu", "geglu"])
@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
def test_a_block_drops_intermediate_units_in_training_only(kind, activation):
    inputs = (X,) if kind is EncoderBlock else (X, MEMORY)
    block = kind(2, 10, intermediate_dropout=0.5, activation=activation, seed=3)
    expected = array_of(block(*inputs))
    assert_close(block(*inputs, training=False), expected)
    assert np.abs(array_of(block(*inputs, training=True)) - expected).max() > 0.01
    block.feed_forward.dropout_layer.rate = 0.0
    assert_close(block(*inputs, training=True), expected)


def test_errors_of_the_rate():
    with pytest.raises(ValueError, match=r"`intermediate_dropout` must be in.*: 1\."):
        EncoderBlock(2, 4, intermediate_dropout=1.0)


@pytest.mark.parametrize("options", [{}, {"cross_attention": False}], ids=str)
def test_steps_equal_the_whole_pass(options):
    block = DecoderBlock(2, 10, activation="swiglu", stochastic_depth=0.4, **options)
    memory = None if options else MEMORY
    block.build(X.shape, *([] if options else [MEMORY.shape]))
    expected = randomize(block)(X, memory)
    cache, outputs = block.start(memory, 5, batch_size=2), []
    for i in range(5):
        y, cache = block.step(X[:, i : i + 1], cache, i)
        outputs.append(array_of(y))
    assert_close(np.concatenate(outputs, axis=1), expected, atol=2e-5)
