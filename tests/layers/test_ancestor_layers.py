"""Layers of the recurrent and the convolutional model, by themselves."""

import keras
import numpy as np
import pytest

from keras_transformer.layers import (
    ConvolutionalDecoderBlock,
    ConvolutionalEncoderBlock,
    GatedConvolution,
    RecurrentDecoder,
)
from tests.backends import array_of, assert_close, randomize
from tests.layers.check_layer import check_layer
from tests.models.ancestors import glu

RNG = np.random.default_rng(11)
X = RNG.normal(size=(2, 5, 8)).astype("float32")
MEMORY = RNG.normal(size=(2, 3, 6)).astype("float32")
VALUE = RNG.normal(size=(2, 3, 4)).astype("float32")
REAL = np.array([[True, True, False], [True, True, True]])
INITIAL = {
    "kernel_initializer": keras.initializers.RandomNormal(stddev=0.3, seed=3),
    "bias_initializer": keras.initializers.RandomNormal(stddev=0.2),
}


def test_contract_of_gated_convolution(tmp_path):
    options = {
        "filters": 7, "kernel_size": 3, "causal": True, "dropout": 0.1,
        "use_bias": False, "seed": 11, **INITIAL,
    }  # fmt: skip
    check_layer(GatedConvolution, options, (X,), parameters=3 * 8 * 14, path=tmp_path)


def test_contract_of_the_convolutional_blocks(tmp_path):
    options = {"kernel_size": 3, "dropout": 0.1, "seed": 11}
    convolution = 3 * 8 * 16 + 16
    check_layer(
        ConvolutionalEncoderBlock, options, (X,), parameters=convolution,
        path=tmp_path,
    )  # fmt: skip
    embedded = X[..., :6]
    check_layer(
        ConvolutionalDecoderBlock, options, (X, embedded, MEMORY, MEMORY[..., :4]),
        parameters=convolution + (8 * 6 + 6) + (4 * 8 + 8), path=tmp_path,
    )  # fmt: skip


def test_contract_of_the_recurrent_decoder(tmp_path):
    options = {"units": 7, "cell": "gru", "num_layers": 2, "dropout": 0.1, "seed": 11}

    def cell(inputs):
        return 3 * 7 * (inputs + 7 + 2)

    attention = 7 * 7 + 7 * 6 + 7 + 7
    maps = (5 * 14 + 14) + ((7 + 6 + 8) * 7 + 7)
    check_layer(
        RecurrentDecoder, options, (X, MEMORY),
        parameters=attention + cell(8 + 6) + cell(7 + 6) + maps, path=tmp_path,
        call={"summary": X[:, 0, :5]},
    )  # fmt: skip


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_gated_convolution_is_its_formula(size, causal):
    layer = GatedConvolution(4, size, causal=causal)
    layer.build(X.shape)
    randomize(layer)
    expected = np.stack([glu(layer, row, causal) for row in X])
    assert_close(layer(X), expected)
    real = np.arange(5)[None] < np.array([[5], [3]])
    found = array_of(layer(X, padding_mask=real))
    assert_close(found[0], expected[0])
    assert_close(found[1, :3], glu(layer, X[1, :3], causal))


def test_new_gated_convolutions_keep_the_variance():
    x = np.random.default_rng(2).normal(size=(4, 50, 64)).astype("float32")
    layer = GatedConvolution(200, 3, kernel_initializer=None)
    # The mean of sigmoid(b)^2 is a little above a quarter: b varies too.
    assert 0.8 < array_of(layer(x)).var() < 2.0


def test_a_dropped_convolution_starts_smaller():
    config = GatedConvolution(4, 3, dropout=0.25).kernel_initializer.get_config()
    assert config["scale"] == 3.0


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: GatedConvolution(0, 3), r"`filters` must be an integer.*: 0\."),
        (lambda: GatedConvolution(4, 0), r"`kernel_size` must be an.*: 0\."),
        (lambda: ConvolutionalEncoderBlock(0), r"`kernel_size` must be an.*: 0\."),
        (lambda: RecurrentDecoder(4, cell="x"), r"`cell` must be one of.*: 'x'\."),
        (lambda: RecurrentDecoder(4, num_layers=0), r"`num_layers` must be.*: 0\."),
        (
            lambda: ConvolutionalDecoderBlock(3)(X, X, MEMORY, MEMORY),
            r"`embedded` and `memory` must have the same width. Received: 8 and 6\.",
        ),
        (
            lambda: RecurrentDecoder(4).start(MEMORY, MEMORY[:, 0]),
            r"must be built before `start`.*not built\.",
        ),
    ],
)
def test_errors(make, error):
    with pytest.raises(ValueError, match=error):
        make()
