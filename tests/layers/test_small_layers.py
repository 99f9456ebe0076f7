import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import DecoderBlock, EncoderBlock, FeedForward
from keras_transformer.layers import Residual
from keras_transformer.layers.head_projection import HeadProjection, held_kernels
from keras_transformer.layers.initialization import initializer_for
from tests.backends import array_of, assert_close, randomize
from tests.layers.formulas import feed_forward, layer_norm

X = np.random.default_rng(3).normal(size=(2, 5, 8)).astype("float32")
UPDATE = np.random.default_rng(4).normal(size=(2, 5, 8)).astype("float32")


@pytest.mark.parametrize("use_bias", [False, True])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_feed_forward(activation, use_bias):
    layer = FeedForward(11, activation=activation, use_bias=use_bias)
    layer.build(X.shape)
    randomize(layer)
    function = np.tanh if activation == "tanh" else lambda x: np.maximum(x, 0)
    assert_close(layer(X), feed_forward(layer, X, function))


def test_feed_forward_drops_intermediate_units_in_training():
    layer = FeedForward(11, dropout=0.5, seed=1)
    expected = array_of(layer(X))
    assert_close(layer(X, training=False), expected)
    assert np.abs(array_of(layer(X, training=True)) - expected).max() > 0.01


def test_residual():
    post, pre = Residual(epsilon=0.1), Residual(normalize_first=True, epsilon=0.1)
    for layer in (post, pre):
        layer.build(X.shape)
        randomize(layer)
    assert_close(post(X, UPDATE), layer_norm(X + UPDATE, post.norm, 0.1))
    assert_close(post.enter(X), X)
    assert_close(pre(X, UPDATE), X + UPDATE)
    assert_close(pre.enter(X), layer_norm(X, pre.norm, 0.1))


def test_residual_drops_the_update_only():
    layer = Residual(dropout=0.5, normalize_first=True, seed=1)
    difference = array_of(layer(X, UPDATE, training=True)) - X
    dropped = np.isclose(difference, 0, atol=1e-6)
    kept = np.isclose(difference, 2 * UPDATE, atol=1e-5)
    assert (dropped | kept).all()
    assert 10 < dropped.sum() < 70


@pytest.mark.parametrize("bias", [False, True])
def test_head_projection_equals_einsum(bias):
    axes = "de" if bias else None
    into = HeadProjection("abc,cde->abde", output_shape=(None, 2, 3), bias_axes=axes)
    out = HeadProjection(
        "abcd,cde->abe", output_shape=(None, 7), bias_axes="e" if bias else None
    )
    heads = into(X)
    result = out(heads)
    expected = np.einsum("abc,cde->abde", X, array_of(into.kernel))
    assert_close(heads, expected)
    assert_close(result, np.einsum("abcd,cde->abe", expected, array_of(out.kernel)))
    plain = keras.layers.EinsumDense(
        "abc,cde->abde", output_shape=(None, 2, 3), bias_axes=axes
    )
    plain.build(X.shape)
    randomize(plain)
    for one, other in zip(into.weights, plain.weights, strict=True):
        one.assign(array_of(other))
    assert_close(into(X), plain(X))


def test_head_projection_with_an_activation():
    layer = HeadProjection(
        "abc,cde->abde", output_shape=(None, 2, 3), activation="relu"
    )
    heads = layer(X)
    expected = np.maximum(np.einsum("abc,cde->abde", X, array_of(layer.kernel)), 0)
    assert_close(heads, expected)


def test_head_projection_uses_the_matrix_that_is_held():
    one, other = (
        HeadProjection("abc,cde->abde", output_shape=(None, 2, 3)) for _ in "12"
    )
    own, others = array_of(one(X)), array_of(other(X))
    with held_kernels([one], [2 * one.flat_kernel()]):
        assert_close(one(X), 2 * own)
        assert_close(other(X), others)
    assert_close(one(X), own)


def test_flat_kernel_has_the_compute_dtype():
    layer = HeadProjection(
        "abcd,cde->abe", output_shape=(None, 7), dtype="mixed_bfloat16"
    )
    layer.build((None, None, 2, 3))
    kernel = layer.flat_kernel()
    assert tuple(kernel.shape) == (6, 7)
    assert keras.backend.standardize_dtype(kernel.dtype) == "bfloat16"
    assert_close(
        ops.cast(kernel, "float32"), array_of(layer.kernel).reshape(6, 7), atol=0.01
    )


def test_initializers_differ_by_name_and_follow_the_seed():
    seeded = keras.initializers.RandomNormal(seed=5)

    def values(initializer):
        return array_of(initializer((3, 4)))

    one, other = initializer_for(seeded, "query"), initializer_for(seeded, "key")
    assert np.abs(values(one) - values(other)).max() > 0
    assert_close(values(one), values(initializer_for(seeded, "query")))
    free = keras.initializers.RandomNormal()
    pair = initializer_for(free, "query"), initializer_for(free, "query")
    assert np.abs(values(pair[0]) - values(pair[1])).max() > 0
    assert not values(initializer_for(keras.initializers.Zeros(), "bias")).any()


WRONG = [
    ("num_heads", -2, r"an integer of at least 1.*: -2\."),
    ("intermediate_dim", 0, r"an integer of at least 1.*: 0\."),
    ("dropout", -0.1, r"in \[0, 1\)\. Received: -0\.1\."),
    ("attention_dropout", 1.0, r"in \[0, 1\)\. Received: 1\.0\."),
    ("normalization", "batch", r"one of 'layer', 'rms'\. Received: 'batch'\."),
    ("layer_norm_epsilon", 0, r"a number above 0\. Received: 0\."),
    ("attention", "magic", r"one of 'dot_.*: 'magic'\."),
    ("position", 3, r"None or a layer with .*Received: 3\."),
]


@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
@pytest.mark.parametrize(("name", "value", "error"), WRONG)
def test_errors_of_blocks(kind, name, value, error):
    options = {"num_heads": 2, "intermediate_dim": 8, name: value}
    with pytest.raises(ValueError, match=f"`{name}` must be {error}"):
        kind(**options)


@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
def test_wrong_numbers_of_key_value_heads(kind):
    inputs = (X,) if kind is EncoderBlock else (X, X)
    with pytest.raises(ValueError, match=r"num_key_value_heads=3, num_heads=4"):
        kind(4, 8, num_key_value_heads=3)(*inputs)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: FeedForward(0), r"`intermediate_dim` must be an integer.*: 0\."),
        (lambda: FeedForward(4, dropout=2), r"`dropout` must be in \[0, 1\).*: 2\."),
        (lambda: Residual(dropout=1), r"`dropout` must be in \[0, 1\).*: 1\."),
        (lambda: Residual(normalization="x"), r"`normalization` must be one.*: 'x'\."),
        (lambda: Residual(epsilon=-1), r"^`epsilon` must be a number above 0.*: -1\."),
    ],
)
def test_errors_of_small_layers(make, error):
    with pytest.raises(ValueError, match=error):
        make()
