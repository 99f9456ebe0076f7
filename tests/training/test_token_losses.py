"""The loss in unusual company: derivatives of derivatives, odd dtypes and shapes."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import Perplexity, SmoothedCrossEntropy, TokenAccuracy
from tests.backends import (
    BACKEND,
    array_of,
    assert_close,
    compiled,
    gradients,
    second_gradients,
)
from tests.training.formulas import mean_loss

RNG = np.random.default_rng(43)
LABELS = np.array([[1, 4, 0], [3, 0, 0]])
LOGITS = RNG.normal(size=(2, 3, 5)).astype("float32")
DIRECTION = RNG.normal(size=LOGITS.shape).astype("float32")
both_smoothings = pytest.mark.parametrize("smoothing", [0.0, 0.1])


def probabilities(logits):
    exponentials = np.exp(logits - logits.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


@both_smoothings
def test_second_derivatives(smoothing):
    loss = SmoothedCrossEntropy(smoothing, reduction="sum")
    (found,) = second_gradients(lambda x: loss(LABELS, x), DIRECTION, LOGITS)
    p = probabilities(LOGITS)
    expected = p * (DIRECTION - np.sum(p * DIRECTION, axis=-1, keepdims=True))
    assert_close(found, expected * (LABELS != 0)[..., None])


@both_smoothings
@pytest.mark.parametrize("size", [1.0, 0.0])
def test_derivatives_of_gradients_by_sample_weights(smoothing, size):
    loss = SmoothedCrossEntropy(smoothing, reduction="sum")
    weight = np.full(LABELS.shape, size, "float32")
    _, found = second_gradients(
        lambda x, weight: loss(LABELS, x, sample_weight=weight),
        DIRECTION,
        LOGITS,
        weight,
    )
    q = (1 - smoothing) * np.eye(5)[LABELS] + smoothing / 5
    expected = np.sum((probabilities(LOGITS) - q) * DIRECTION, axis=-1)
    assert_close(found, expected * (LABELS != 0))


@pytest.mark.skipif(BACKEND != "jax", reason="transformations of JAX")
@pytest.mark.parametrize("labels_given", [False, True])
@pytest.mark.parametrize("name", ["jit", "checkpoint", "cond", "scan"])
def test_gradients_of_transformed_losses(name, labels_given):
    import jax

    loss = SmoothedCrossEntropy(0.1)
    wrapped = {
        "jit": jax.jit,
        "checkpoint": jax.checkpoint,
        "cond": lambda f: lambda *x: jax.lax.cond(x[0].sum() > -99, f, f, *x),
        "scan": lambda f: (
            lambda *x: jax.lax.scan(
                lambda total, _: (total + f(*x), None), 0.0, ops.arange(1)
            )[0]
        ),
    }[name]
    arguments = [LOGITS, LABELS] if labels_given else [LOGITS]
    once = wrapped(lambda x, labels=LABELS: loss(labels, x))
    expected = jax.grad(lambda x: loss(LABELS, x))(LOGITS)
    for function in (once, jax.jit(once)):
        assert_close(jax.grad(function)(*map(ops.array, arguments)), expected)


@pytest.mark.tensorflow_only
@both_smoothings
def test_gradient_outside_of_the_xla_of_the_loss(smoothing):
    import tensorflow as tf

    loss = SmoothedCrossEntropy(smoothing)
    inside = tf.function(lambda x: loss(LABELS, x), jit_compile=True)

    def gradient(x, function):
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = function(x)
        return tape.gradient(value, x)

    x = tf.constant(LOGITS)
    found = tf.function(gradient)(x, inside)
    assert_close(found, gradient(x, lambda x: loss(LABELS, x)))


@pytest.mark.parametrize("shape", [(6,), (2, 3), (1, 2, 3)])
def test_weights_of_labels_with_any_number_of_axes(shape):
    labels, weight = LABELS.reshape(shape), RNG.random(6).astype("float32")
    logits = LOGITS.reshape(*shape, 5)
    expected = mean_loss(LABELS, LOGITS, 0.1, weight=weight.reshape(2, 3))
    found = SmoothedCrossEntropy(0.1)(
        labels, logits, sample_weight=weight.reshape(shape)
    )
    assert float(found) == pytest.approx(expected, rel=1e-5)
    few = SmoothedCrossEntropy(0.1)(labels, logits, sample_weight=np.ones(shape[:1]))
    assert float(few) == pytest.approx(mean_loss(LABELS, LOGITS, 0.1), rel=1e-5)
    whole, other = Perplexity(), Perplexity()
    whole.update_state(labels, logits, sample_weight=weight.reshape(shape))
    other.update_state(LABELS, LOGITS, sample_weight=weight.reshape(2, 3))
    assert float(whole.result()) == pytest.approx(float(other.result()), rel=1e-6)


@pytest.mark.parametrize("shape", [(3,), (2, 2), (2, 3, 1), (6,)])
def test_weights_that_do_not_fit(shape):
    for judge in (SmoothedCrossEntropy(), Perplexity().update_state):
        with pytest.raises(
            ValueError, match=r"`sample_weight` must have .*Received: \("
        ):
            judge(LABELS, LOGITS, sample_weight=np.ones(shape, "float32"))


@pytest.mark.parametrize("shape", [(2, 1), (1, 3), (1, 1)])
def test_labels_are_not_repeated(shape):
    metrics = (Perplexity(), TokenAccuracy())
    for judge in (SmoothedCrossEntropy(), *(m.update_state for m in metrics)):
        with pytest.raises(ValueError, match=r"Labels must have shape.*Received: \("):
            judge(np.ones(shape, "int32"), LOGITS)


@pytest.mark.parametrize(
    ("smoothing", "offset"), [(0.0, 1e3), (0.0, 1e8), (0.1, 1e3), (0.1, 1e6)]
)
def test_what_all_logits_share_changes_nothing(smoothing, offset):
    logits = (np.array([[[8, 24, 16, 8]]]) + offset).astype("float32")
    expected = mean_loss(np.array([[2]]), logits - offset, smoothing)
    found = float(SmoothedCrossEntropy(smoothing)(np.array([[2]]), logits))
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("pad_id", "label", "dtype"),
    [
        (-1, 255, "uint8"),
        (-100, 156, "uint8"),
        (300, 44, "uint8"),
        (-1, 65535, "uint16"),
    ],
)
def test_padding_outside_the_dtype_of_labels_is_no_label(pad_id, label, dtype):
    labels = np.array([[label]], dtype)
    logits = np.zeros((1, 1, label + 2), "float32")
    found = float(SmoothedCrossEntropy(pad_id=pad_id)(labels, logits))
    assert found == pytest.approx(np.log(label + 2))


@pytest.mark.skipif(BACKEND == "jax", reason="JAX makes them int32 before")
def test_labels_beyond_int32_are_no_other_label():
    labels = np.array([[2**32 + 3]])
    assert np.isnan(array_of(SmoothedCrossEntropy()(labels, LOGITS[:1, :1])))


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_nothing(shape):
    labels, logits = np.zeros(shape, "int32"), np.zeros((*shape, 5), "float32")
    assert float(SmoothedCrossEntropy(0.1)(labels, logits)) == 0
    for metric in (TokenAccuracy(), Perplexity()):
        metric.update_state(labels, logits)
        assert np.isfinite(float(metric.result()))


@pytest.mark.parametrize("kind", ["keras", "backend"])
def test_variables_as_logits(kind):
    x = keras.Variable(LOGITS)
    x = x if kind == "keras" else x.value
    found = array_of(SmoothedCrossEntropy(0.1)(LABELS, x))
    assert found == pytest.approx(mean_loss(LABELS, LOGITS, 0.1), rel=1e-5)
    accuracy, perplexity = TokenAccuracy(), Perplexity()
    accuracy.update_state(LABELS, x)
    perplexity.update_state(LABELS, x)
    real = LABELS != 0
    right = np.argmax(LOGITS, axis=-1) == LABELS
    assert float(accuracy.result()) == pytest.approx(right[real].mean())
    expected = np.exp(mean_loss(LABELS, LOGITS))
    assert float(perplexity.result()) == pytest.approx(expected, rel=1e-5)


@pytest.mark.tensorflow_only
@both_smoothings
def test_a_vocabulary_of_unknown_size(smoothing):
    import tensorflow as tf

    loss = SmoothedCrossEntropy(smoothing)

    def both(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = loss(LABELS, x)
        return value, tape.gradient(value, x)

    unknown = compiled(both, input_signature=[tf.TensorSpec((None, None, None))])
    for found, expected in zip(unknown(LOGITS), both(tf.constant(LOGITS)), strict=True):
        assert_close(found, expected)


@pytest.fixture(params=["bfloat16", "float64"])
def _other_floatx(request):
    before = keras.config.floatx()
    keras.config.set_floatx(request.param)
    yield
    keras.config.set_floatx(before)


@pytest.mark.usefixtures("_other_floatx")
def test_losses_are_float32_for_any_floatx():
    loss = SmoothedCrossEntropy(0.1)
    value = loss(LABELS, LOGITS)
    assert "float32" in str(value.dtype)
    assert float(value) == pytest.approx(mean_loss(LABELS, LOGITS, 0.1), rel=1e-5)
    (found,) = gradients(lambda x: loss(LABELS, x), LOGITS)
    assert "float32" in str(found.dtype)
    q = 0.9 * np.eye(5)[LABELS] + 0.1 / 5
    real = (LABELS != 0)[..., None]
    assert_close(found, (probabilities(LOGITS) - q) * real / real.sum())


# JAX has no float64 if it is not asked to have it, and computes in float32.
@pytest.mark.filterwarnings("ignore:Explicitly requested dtype float64")
@pytest.mark.usefixtures("_other_floatx")
def test_metrics_count_beyond_what_half_precision_counts():
    labels, logits = np.full((1, 300), 1), np.zeros((1, 300, 2), "float32")
    right, wrong = np.zeros((2, *logits.shape), "float32")
    right[..., 1] = wrong[..., 0] = 1
    accuracy, perplexity = TokenAccuracy(), Perplexity()
    for scores in [right] * 3 + [wrong] * 7:
        accuracy.update_state(labels, scores)
        perplexity.update_state(labels, logits)
    assert float(accuracy.result()) == pytest.approx(0.3, rel=1e-6)
    assert float(perplexity.result()) == pytest.approx(2.0, rel=1e-5)
