"""Layers of the recurrent and the convolutional model, by themselves."""

import keras
import numpy as np
import pytest

from keras_transformer.layers import (
    AdditiveAttention,
    ConvolutionalDecoderBlock,
    ConvolutionalEncoderBlock,
    GatedConvolution,
    RecurrentDecoder,
)
from tests.attention.formulas import weight
from tests.backends import array_of, assert_close, gradients, randomize
from tests.layers.check_layer import check_layer
from tests.models.ancestors import glu, softmax

RNG = np.random.default_rng(11)
X = RNG.normal(size=(2, 5, 8)).astype("float32")
MEMORY = RNG.normal(size=(2, 3, 6)).astype("float32")
VALUE = RNG.normal(size=(2, 3, 4)).astype("float32")
REAL = np.array([[True, True, False], [True, True, True]])
INITIAL = {
    "kernel_initializer": keras.initializers.RandomNormal(stddev=0.3, seed=3),
    "bias_initializer": keras.initializers.RandomNormal(stddev=0.2),
}


def test_contract_of_additive_attention(tmp_path):
    options = {"units": 7, "dropout": 0.1, "use_bias": False, "seed": 11, **INITIAL}
    check_layer(
        AdditiveAttention, options, (X, VALUE, MEMORY),
        parameters=7 * 8 + 7 * 6 + 7, path=tmp_path,
    )  # fmt: skip


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


def additive(layer, query, value, key, mask):
    """Context and scores: v^T tanh(W q + U k + b), pair by pair."""
    w, u, v = layer.query_dense.kernel, layer.key_dense.kernel, layer.vector
    context = np.zeros((*query.shape[:2], value.shape[-1]))
    scores = np.zeros((*query.shape[:2], key.shape[1]))
    for row, i in np.ndindex(query.shape[:2]):
        hidden = query[row, i] @ weight(w) + key[row] @ weight(u)
        logits = np.tanh(hidden + weight(layer.key_dense.bias)) @ weight(v)[:, 0]
        if mask[row, i].any():
            scores[row, i] = softmax(logits, mask[row, i])
        context[row, i] = scores[row, i] @ value[row]
    return context, scores


def test_additive_attention_is_its_formula_under_all_masks():
    layer = AdditiveAttention(7)
    layer.build(X.shape, VALUE.shape, MEMORY.shape)
    randomize(layer)
    allowed = RNG.random((2, 5, 3)) < 0.7
    allowed[0, 1] = False  # a query that may attend to nothing
    last = np.array([[True, True, True], [False, True, True]])
    mask = allowed & REAL[:, None] & last[:, None]
    expected = additive(layer, X, VALUE, MEMORY, mask)
    found = layer(
        X, VALUE, MEMORY, value_mask=REAL, key_mask=last, attention_mask=allowed,
        return_attention_scores=True,
    )  # fmt: skip
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other)
    assert not array_of(found[0])[0, 1].any()
    everything = np.ones_like(mask)
    expected, _ = additive(layer, X, VALUE, MEMORY, everything)
    assert_close(layer(X, VALUE, MEMORY), expected)
    moved = gradients(
        lambda x: keras.ops.sum(layer(x, VALUE, MEMORY, attention_mask=mask) ** 2), X
    )[0]
    assert np.isfinite(moved).all()
    assert not moved[0, 1].any()


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
        (lambda: AdditiveAttention(0), r"`units` must be an integer.*: 0\."),
        (lambda: AdditiveAttention(4, dropout=1), r"`dropout` must be in.*: 1\."),
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
        (
            lambda: AdditiveAttention(4)(X, MEMORY, value_mask=REAL[0]),
            r"`value_mask` must have shape \(batch, length\).*\(3,\)\.",
        ),
    ],
)
def test_errors(make, error):
    with pytest.raises(ValueError, match=error):
        make()
