import keras
import numpy as np
import pytest

from keras_transformer import ImageClassifier
from tests.backends import BACKEND, array_of, assert_close, randomize
from tests.models.small_families import IMAGES, small_image_classifier


@pytest.mark.parametrize("pooling", ["token", "mean"])
def test_images_of_any_size(pooling):
    options = {"position": "sinusoidal", "pooling": pooling}
    model = randomize(small_image_classifier(**options, image_size=None), scale=0.3)
    fixed = small_image_classifier(**options)
    fixed.set_weights(model.get_weights())
    assert model.input.shape == (None, None, None, 2)
    assert_close(model(IMAGES), fixed(IMAGES))
    assert_close(model.predict_on_batch(IMAGES), fixed(IMAGES))
    assert model(IMAGES[:, :2]).shape == (3, 3)
    with pytest.raises(ValueError, match=r"`patch_size` must divide the height.*=3"):
        model(IMAGES[:, :3])


@pytest.mark.parametrize("position", ["learned", "sinusoidal", None])
def test_only_positions_tell_where_a_patch_stands(position):
    model = small_image_classifier(position=position, pooling="mean")
    randomize(model, scale=0.3)
    moved = np.roll(IMAGES, 2, axis=2)  # by one patch
    difference = np.abs(array_of(model(moved)) - array_of(model(IMAGES))).max()
    assert (difference < 1e-5) == (position is None), difference


def test_pooling_is_the_mean_of_the_stack_or_its_first_position():
    for pooling in ("mean", "token"):
        model = randomize(small_image_classifier(pooling=pooling), scale=0.3)
        stack = keras.Model(model.input, model.get_layer("encoder_norm").output)
        hidden = array_of(stack(IMAGES))
        assert hidden.shape == (3, 6 + (pooling == "token"), 16)
        pooled = hidden.mean(axis=1) if pooling == "mean" else hidden[:, 0]
        kernel, bias = (array_of(w) for w in model.get_layer("classes").weights)
        assert_close(model(IMAGES), pooled @ kernel + bias)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"image_size": 0}, r"`image_size` must be an integer.*: 0\."),
        ({"image_size": (1, 2, 3)}, r"`image_size` must be a number, a pair.*3\)\."),
        ({"image_size": None}, r"`position=\"learned\"` needs an `image_size`"),
        ({"image_size": (4, 5)}, r"`patch_size` must divide the width.*width=5"),
        ({"channels": 0}, r"`channels` must be an integer.*: 0\."),
        ({"patch_size": 0}, r"`patch_size` must be an integer.*: 0\."),
        ({"pooling": "first"}, r"`pooling` must be one of 'token', 'mean'.*'first'"),
    ],
)
def test_errors(options, error):
    with pytest.raises(ValueError, match=error):
        small_image_classifier(**options)


def test_it_learns_digits():
    data = pytest.importorskip("sklearn.datasets").load_digits()
    images = (data.images[:600, ..., None] / 16.0 - 0.5).astype("float32")
    labels = data.target[:600]
    keras.utils.set_random_seed(1)
    model = ImageClassifier(
        10, image_size=8, channels=1, patch_size=2, num_layers=1, hidden_dim=32,
        num_heads=2, intermediate_dim=64,
    )  # fmt: skip
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(
        keras.optimizers.Adam(0.003), loss, metrics=["accuracy"],
        jit_compile=BACKEND == "jax",
    )  # fmt: skip
    model.fit(images[:500], labels[:500], batch_size=50, epochs=10, verbose=0)
    _, accuracy = model.evaluate(images[500:], labels[500:], batch_size=50, verbose=0)
    assert accuracy > 0.45  # 0.1 by chance
