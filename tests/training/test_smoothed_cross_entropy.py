import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from keras_transformer import SmoothedCrossEntropy
from tests.backends import BACKEND, array_of, assert_close, compiled, gradients
from tests.training.formulas import mean_loss, token_losses

RNG = np.random.default_rng(41)
LABELS = RNG.integers(1, 7, (3, 5))
LABELS[0, 3:] = 0
LABELS[2, :] = 0
LABELS[2, 1] = 4
LOGITS = (3 * RNG.normal(size=(3, 5, 7))).astype("float32")
each_smoothing = pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.4])


@each_smoothing
@pytest.mark.parametrize("pad_id", [0, 4])
def test_formula(smoothing, pad_id):
    loss = SmoothedCrossEntropy(smoothing, pad_id=pad_id)
    expected = mean_loss(LABELS, LOGITS, smoothing, pad_id)
    assert float(loss(LABELS, LOGITS)) == pytest.approx(expected, rel=1e-5)
    assert float(compiled(lambda x: loss(LABELS, x))(LOGITS)) == pytest.approx(
        expected, rel=1e-5
    )


@each_smoothing
@pytest.mark.parametrize("offset", [0.0, 1e4, -1e4])
def test_labels_of_no_probability_in_float32(smoothing, offset):
    labels = np.array([[1, 2, 1]])
    logits = np.array([[[0, 0, 300], [0, 1000, 0], [0, 90, 0]]]) + offset
    logits = logits.astype("float32")
    loss = SmoothedCrossEntropy(smoothing, reduction=None)
    assert_close(loss(labels, logits), token_losses(labels, logits, smoothing))
    (found,) = gradients(lambda x: ops.sum(loss(labels, x)), logits)
    q = (1 - smoothing) * np.eye(3)[labels] + smoothing / 3
    assert_close(found, np.eye(3)[logits.argmax(-1)] - q)


@each_smoothing
@pytest.mark.parametrize("reduction", ["sum", "none", None])
def test_reductions(smoothing, reduction):
    losses = token_losses(LABELS, LOGITS, smoothing)
    loss = SmoothedCrossEntropy(smoothing, reduction=reduction)
    expected = losses.sum() if reduction == "sum" else losses
    assert_close(loss(LABELS, LOGITS), np.float32(expected))
    assert_close(loss.call(LABELS, LOGITS), losses)


@pytest.mark.parametrize("shape", [(3,), (3, 1), (3, 5)])
def test_sample_weights(shape):
    weight = RNG.random(shape).astype("float32")
    wide = weight[:, None] if len(shape) == 1 else weight
    expected = mean_loss(LABELS, LOGITS, 0.1, weight=wide)
    found = SmoothedCrossEntropy(0.1)(LABELS, LOGITS, sample_weight=weight)
    assert float(found) == pytest.approx(expected, rel=1e-5)


def test_a_weight_at_padding_does_not_count():
    weight = RNG.random((3, 5)).astype("float32")
    loss = SmoothedCrossEntropy(0.1)
    expected = float(loss(LABELS, LOGITS, sample_weight=weight))
    weight[LABELS == 0] = float("nan")
    found, (gradient,) = (
        loss(LABELS, LOGITS, sample_weight=weight),
        gradients(lambda x: loss(LABELS, x, sample_weight=weight), LOGITS),
    )
    assert float(found) == pytest.approx(expected)
    assert np.isfinite(gradient).all()


@each_smoothing
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_equals_finite_differences(smoothing, weighted):
    weight = np.linspace(0.5, 2, 3).astype("float32") if weighted else None
    loss = SmoothedCrossEntropy(smoothing)
    (found,) = gradients(lambda x: loss(LABELS, x, sample_weight=weight), LOGITS)
    wide = 1.0 if weight is None else weight[:, None]
    expected = np.zeros(LOGITS.shape)
    for place in np.ndindex(*LOGITS.shape):
        above, below = LOGITS.astype("float64"), LOGITS.astype("float64")
        above[place] += 1e-4
        below[place] -= 1e-4
        expected[place] = (
            mean_loss(LABELS, above, smoothing, weight=wide)
            - mean_loss(LABELS, below, smoothing, weight=wide)
        ) / 2e-4
    assert_close(found, expected, atol=1e-6)


@pytest.mark.parametrize("reduction", ["sum", None])
def test_gradient_of_other_reductions(reduction):
    loss = SmoothedCrossEntropy(0.1, reduction=reduction)
    mean = SmoothedCrossEntropy(0.1)
    (found,) = gradients(lambda x: ops.sum(loss(LABELS, x)), LOGITS)
    (expected,) = gradients(lambda x: mean(LABELS, x), LOGITS)
    assert_close(found, expected * (LABELS != 0).sum(), atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_logits(dtype):
    logits = ops.cast(LOGITS, dtype)
    loss = SmoothedCrossEntropy(0.1)(LABELS, logits)
    assert keras.backend.standardize_dtype(loss.dtype) == "float32"
    assert float(loss) == pytest.approx(
        mean_loss(LABELS, array_of(logits), 0.1), rel=1e-4
    )


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float32"])
def test_dtypes_of_labels(dtype):
    if dtype == "int64" and BACKEND == "jax":
        pytest.skip("JAX has no int64 unless it is asked to")
    found = SmoothedCrossEntropy()(LABELS.astype(dtype), LOGITS)
    assert float(found) == pytest.approx(mean_loss(LABELS, LOGITS), rel=1e-5)


@pytest.mark.parametrize("wrong", [-1, 7, 100, -100])
def test_labels_outside_the_vocabulary_are_no_other_token(wrong):
    labels = LABELS.copy()
    labels[1, 1] = wrong
    loss = SmoothedCrossEntropy(0.1, reduction=None)
    found = array_of(loss(labels, LOGITS))
    expected = token_losses(LABELS, LOGITS, 0.1)
    expected[1, 1] = np.nan
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    padded = SmoothedCrossEntropy(0.1, reduction=None, pad_id=wrong)
    # No label is padding but the wrong one; with another `pad_id` 0 is a token.
    known = np.where(labels == wrong, 0, labels)
    expected = token_losses(known, LOGITS, 0.1, pad_id=None)
    expected[1, 1] = 0.0
    assert_close(padded(labels, LOGITS), expected)


def test_large_logits_stay_finite():
    logits = LOGITS * 1000
    loss = SmoothedCrossEntropy(0.1)
    assert float(loss(LABELS, logits)) == pytest.approx(
        mean_loss(LABELS, logits, 0.1), rel=1e-5
    )
    (gradient,) = gradients(lambda x: loss(LABELS, x), logits)
    assert np.isfinite(gradient).all()


@given(st.integers(1, 4))
@settings(max_examples=4)
def test_appended_padding_changes_nothing(pads):
    labels = np.pad(LABELS, ((0, 0), (0, pads)))
    logits = np.pad(LOGITS, ((0, 0), (0, pads), (0, 0)), constant_values=np.inf)
    loss = SmoothedCrossEntropy(0.1)
    assert float(loss(labels, logits)) == pytest.approx(
        float(loss(LABELS, LOGITS)), rel=1e-6
    )


def test_any_number_of_axes():
    loss = SmoothedCrossEntropy(0.1)
    expected = mean_loss(LABELS, LOGITS, 0.1)
    flat = loss(LABELS.reshape(15), LOGITS.reshape(15, 7))
    deep = loss(LABELS.reshape(3, 5, 1), LOGITS.reshape(3, 5, 1, 7))
    assert float(flat) == pytest.approx(expected, rel=1e-5)
    assert float(deep) == pytest.approx(expected, rel=1e-5)


def test_config():
    loss = SmoothedCrossEntropy(0.2, pad_id=3, reduction="sum", name="mine")
    serialized = keras.losses.serialize(loss)
    assert serialized["registered_name"] == "keras_transformer>SmoothedCrossEntropy"
    back = keras.losses.deserialize(serialized)
    assert type(back) is SmoothedCrossEntropy
    assert back.get_config() == loss.get_config()
    assert (back.label_smoothing, back.pad_id, back.name) == (0.2, 3, "mine")
    assert float(back(LABELS, LOGITS)) == float(loss(LABELS, LOGITS))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"label_smoothing": 1.0}, r"`label_smoothing` must be in \[0, 1\).*: 1\.0\."),
        ({"label_smoothing": -0.1}, r"`label_smoothing` must be in.*: -0\.1\."),
        ({"reduction": "mean"}, r"`reduction` must be .*\. Received: 'mean'\."),
    ],
)
def test_errors(options, error):
    with pytest.raises(ValueError, match=error):
        SmoothedCrossEntropy(**options)


@pytest.mark.parametrize("labels", [LABELS[0], LABELS[..., None]])
def test_shapes_that_do_not_fit(labels):
    with pytest.raises(ValueError, match=r"Labels must have shape.*Received: \("):
        SmoothedCrossEntropy()(labels, LOGITS)
