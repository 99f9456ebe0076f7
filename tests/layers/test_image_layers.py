import keras
import numpy as np
import pytest

from keras_transformer.layers import (
    ClassToken,
    LearnedPositionalEncoding,
    PatchEmbedding,
    PositionalEncoding,
    PositionalEncoding2D,
)
from keras_transformer.layers.bias import Bias
from tests.backends import array_of, assert_close, compiled, randomize
from tests.layers.check_layer import check_layer
from tests.models.formulas import sinusoids

RNG = np.random.default_rng(7)
IMAGES = RNG.normal(size=(2, 6, 9, 4)).astype("float32")
X = RNG.normal(size=(2, 5, 8)).astype("float32")


def test_patch_embedding_contract(tmp_path):
    options = {
        "patch_size": 3, "hidden_dim": 5, "flatten": False, "use_bias": False,
        "kernel_initializer": keras.initializers.RandomNormal(stddev=0.3, seed=3),
        "bias_initializer": keras.initializers.RandomNormal(stddev=0.2),
    }  # fmt: skip
    check_layer(
        PatchEmbedding, options, (IMAGES,), parameters=36 * 5, path=tmp_path,
        fit_with={"flatten": True},
    )  # fmt: skip


def test_positional_encoding_2d_contract(tmp_path):
    options = {"max_wavelength": 100.0, "scale": 0.5}
    x = RNG.normal(size=(2, 5, 2, 8)).astype("float32")
    check_layer(PositionalEncoding2D, options, (x,), parameters=0, path=tmp_path)


@pytest.mark.parametrize("kind", [ClassToken, Bias])
def test_class_token_and_bias_contract(kind, tmp_path):
    options = {"initializer": keras.initializers.RandomNormal(stddev=0.3, seed=3)}
    check_layer(kind, options, (X,), parameters=8, path=tmp_path)


def patches_of(images, size):
    """Each patch by itself, in the order of the text: rows of patches."""
    batch, height, width, _ = images.shape
    corners = [
        (i, j) for i in range(0, height, size) for j in range(0, width, size)
    ]  # fmt: skip
    cut = [images[:, i : i + size, j : j + size] for i, j in corners]
    return np.stack([part.reshape(batch, -1) for part in cut], axis=1)


def test_patch_embedding_formula():
    layer = PatchEmbedding(3, 5)
    found = layer(IMAGES)
    randomize(layer)
    found = layer(IMAGES)
    kernel, bias = (array_of(weight) for weight in layer.weights)
    assert_close(found, patches_of(IMAGES, 3) @ kernel + bias)
    grid = PatchEmbedding(3, 5, flatten=False)
    grid.build(IMAGES.shape)
    grid.set_weights(layer.get_weights())
    assert_close(grid(IMAGES), array_of(found).reshape(2, 2, 3, 5))


def test_patches_equal_a_convolution_with_strides():
    layer = PatchEmbedding(3, 5)
    layer.build(IMAGES.shape)
    randomize(layer)
    convolution = keras.layers.Conv2D(5, 3, strides=3)
    convolution.build(IMAGES.shape)
    kernel, bias = layer.get_weights()
    convolution.set_weights([kernel.reshape(3, 3, 4, 5), bias])
    expected = array_of(convolution(IMAGES)).reshape(2, 6, 5)
    assert_close(layer(IMAGES), expected)


def test_patches_of_images_of_any_size():
    images = keras.Input((None, None, 4))
    layer = PatchEmbedding(3, 5)
    model = keras.Model(images, layer(images))
    assert model.output.shape == (None, None, 5)
    for x in (IMAGES, IMAGES[:, :3, :6]):
        assert_close(model(x), layer(x))
        assert_close(compiled(lambda x: model(x))(x), layer(x))


@pytest.mark.parametrize(
    ("shape", "error"),
    [
        ((2, 6, 10, 4), r"`patch_size` must divide the width.*patch_size=3, width=10"),
        ((2, 7, 9, 4), r"`patch_size` must divide the height.*=3, height=7"),
        ((None, None, 10, 4), r"`patch_size` must divide the width.*width=10"),
        ((2, 0, 9, 4), r"`patch_size` must divide the height.*height=0"),
        ((2, 6, 4), r"`inputs` must have shape \(batch, height, .*\(2, 6, 4\)"),
        ((2, 6, 9, None), r"`inputs` must have shape .* known channels"),
    ],
)
def test_images_that_patches_do_not_fit(shape, error):
    with pytest.raises(ValueError, match=error):
        PatchEmbedding(3, 5)(keras.KerasTensor(shape))


def test_a_built_layer_checks_each_image():
    layer = PatchEmbedding(3, 5)
    layer(IMAGES)
    with pytest.raises(ValueError, match=r"divide the height .*height=5"):
        layer(IMAGES[:, :5])
    with pytest.raises(ValueError, match=r"`inputs` must be floating point"):
        layer(np.ones((2, 6, 9, 4), "uint8"))


@pytest.mark.parametrize("name", ["patch_size", "hidden_dim"])
def test_sizes_of_patches(name):
    with pytest.raises(ValueError, match=rf"`{name}` must be an integer.*: 0\."):
        PatchEmbedding(**{"patch_size": 3, "hidden_dim": 5, name: 0})


def test_positional_encoding_2d_formula():
    x = RNG.normal(size=(2, 3, 5, 8)).astype("float32")
    row = np.broadcast_to(sinusoids(3, 4)[:, None], (3, 5, 4))
    column = np.broadcast_to(sinusoids(5, 4)[None], (3, 5, 4))
    expected = np.concatenate([row, column], axis=-1)
    assert_close(PositionalEncoding2D()(x), x + expected)
    assert_close(PositionalEncoding2D(scale=0.5)(x), x + 0.5 * expected)
    grid = keras.Input((None, None, 8))
    model = keras.Model(grid, PositionalEncoding2D()(grid))
    assert_close(compiled(lambda x: model(x))(x), x + expected)


def test_positions_of_large_grids_are_exact_in_half_precision():
    x = np.zeros((1, 1, 3000, 4), "float32")
    found = PositionalEncoding2D(dtype="bfloat16")(x)
    assert_close(array_of(found)[0, 0, :, 2:], sinusoids(3000, 2), atol=5e-3)


@pytest.mark.parametrize("shape", [(2, 3, 8), (2, 3, 5, 7), (2, 3, 5, None)])
def test_grids_that_have_no_encoding(shape):
    with pytest.raises(ValueError, match=r"`inputs` must have .* even width\. Rec"):
        PositionalEncoding2D()(keras.KerasTensor(shape))
    with pytest.raises(ValueError, match=r"`inputs` must be floating point"):
        PositionalEncoding2D()(np.ones((1, 2, 2, 4), "int32"))


def test_class_token_stands_in_front():
    layer = ClassToken(initializer="normal")
    found = array_of(layer(X))
    assert_close(found[:, 1:], X)
    assert_close(found[:, 0], np.tile(array_of(layer.token), (2, 1)))
    with pytest.raises(ValueError, match=r"`inputs` must have shape \(batch, length"):
        ClassToken()(X[0])


@pytest.mark.parametrize(
    "make", [PositionalEncoding, lambda: LearnedPositionalEncoding(9)]
)
def test_explicit_positions(make):
    layer = make()
    counted = array_of(layer(np.zeros((1, 9, 8), "float32")))[0]
    positions = np.array([[0, 1, 2, 3, 8], [4, 0, 0, 1, 2]], "int32")
    assert_close(layer(X, positions=positions), X + counted[positions])
    same = np.tile(np.arange(5, dtype="int32"), (2, 1))
    assert_close(layer(X, positions=same), layer(X))
    x, symbol = keras.Input((None, 8)), keras.Input((None,), dtype="int32")
    model = keras.Model([x, symbol], layer(x, positions=symbol))
    assert_close(model([X, positions]), X + counted[positions])
    with pytest.raises(ValueError, match=r"`positions` must be integers of shape"):
        layer(X, positions=positions[0])


def test_explicit_positions_outside_the_table():
    layer = LearnedPositionalEncoding(4)
    layer.build(X.shape)
    positions = np.array([[0, 1, 2, 3, 4]] * 2, "int32")
    with pytest.raises(ValueError, match=r"`positions` must be below .*=4.*: 4\."):
        layer(X, positions=positions)
    positions[:, 4] = -1
    found = array_of(layer(X, positions=positions))
    assert_close(found[:, 4], X[:, 4])
    assert_close(found[:, :4], X[:, :4] + array_of(layer.embeddings))
