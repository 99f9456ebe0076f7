import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.layers.layer_normalization import LayerNormalization
from tests.backends import (
    BACKEND,
    array_of,
    assert_close,
    compiled,
    gradients,
    randomize,
    weight_gradients,
)

RNG = np.random.default_rng(31)
X = RNG.normal(1, 3, size=(3, 5, 7)).astype("float32")
UPSTREAM = RNG.normal(size=X.shape).astype("float32")


def pair(shape=X.shape, **options):
    """Our layer and Keras's, with the same random weights."""
    kinds = LayerNormalization, keras.layers.LayerNormalization
    ours, keras_own = (kind(epsilon=1e-3, **options) for kind in kinds)
    for layer in (ours, keras_own):
        layer.build(shape)
        randomize(layer, seed=1)
    return ours, keras_own


def weighted(y):
    return ops.sum(ops.multiply(y, UPSTREAM))


@pytest.mark.parametrize("shape", [(4, 7), (3, 5, 7), (2, 3, 4, 6), (3, 5, 1), (0, 7)])
def test_output_equals_kerass(shape):
    ours, keras_own = pair(shape)
    x = RNG.normal(size=shape).astype("float32")
    assert_close(ours(x), keras_own(x))
    assert_close(compiled(ours)(x), keras_own(x))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "mixed_bfloat16"])
def test_every_precision(dtype):
    x = ops.cast(X, keras.dtype_policies.get(dtype).compute_dtype)
    ours, keras_own = pair(dtype=dtype)
    assert ours(x).dtype == keras_own(x).dtype
    expected = array_of(ops.cast(keras_own(x), "float32"))
    assert_close(ops.cast(ours(x), "float32"), expected, atol=5e-2)
    found = weight_gradients(ours, lambda y: ops.sum(ops.cast(y, "float32")), x)
    assert all(np.isfinite(array_of(ops.cast(g, "float32"))).all() for g in found)


@pytest.mark.skipif(BACKEND == "torch", reason="PyTorch has words of its own")
@pytest.mark.parametrize(("built", "given"), [(4, 1), (1, 5), (4, 5)])
def test_another_width_is_refused(built, given):
    layer = LayerNormalization()
    layer.build((None, built))
    with pytest.raises(ValueError, match=r"`inputs` must have the width.*Received"):
        layer(np.ones((2, given), "float32"))


def test_gradients_equal_kerass():
    ours, keras_own = pair()
    found, expected = (
        [
            *gradients(lambda x, layer=layer: weighted(layer(x)), X),
            *weight_gradients(layer, weighted, X),
        ]
        for layer in (ours, keras_own)
    )
    assert len(found) == 3
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape
        assert_close(ours, theirs)


@pytest.mark.tensorflow_only
def test_second_derivative_equals_kerass():
    import tensorflow as tf

    def curvature(layer):
        x = tf.constant(X)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = weighted(layer(x))
            penalty = tf.reduce_sum(tf.square(inner.gradient(y, x)))
        return outer.gradient(penalty, x)

    ours, keras_own = pair()
    assert_close(curvature(ours), curvature(keras_own))


@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16", "float64"])
def test_dtype_policies(dtype):
    if BACKEND == "jax" and dtype == "float64":
        pytest.skip("JAX needs a setting for float64")
    ours, keras_own = pair(dtype=dtype)
    x = 100 * X.astype("float64")
    y = ours(x)
    assert keras.backend.standardize_dtype(y.dtype) == ours.compute_dtype
    assert_close(y, keras_own(x))


def test_a_large_mean_cancels():
    ours, _ = pair()
    rows = np.arange(14, dtype="float32").reshape(2, 7) / 8
    assert_close(array_of(ours(rows + 4096)), array_of(ours(rows)), atol=1e-4)


@pytest.mark.parametrize("options", [{"axis": 1}, {"center": False}, {"scale": False}])
def test_options_of_keras(options):
    if BACKEND == "torch" and "axis" in options:
        pytest.skip("Keras on PyTorch normalises last axes only")
    ours, keras_own = pair(**options)
    back = LayerNormalization.from_config(ours.get_config())
    back.build(X.shape)
    back.set_weights(ours.get_weights())
    assert_close(ours(X), keras_own(X))
    assert_close(back(X), ours(X))
