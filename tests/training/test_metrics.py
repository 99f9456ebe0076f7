import keras
import numpy as np
import pytest

from keras_transformer import Perplexity, TokenAccuracy
from tests.training.formulas import token_losses

RNG = np.random.default_rng(42)
LABELS = RNG.integers(0, 4, (2, 6, 5))  # two batches
LOGITS = RNG.normal(size=(2, 6, 5, 4)).astype("float32")
KINDS = [TokenAccuracy, Perplexity]
each_kind = pytest.mark.parametrize("kind", KINDS)


def expected(kind, labels, logits, weight=1.0, pad_id=0):
    weight = np.broadcast_to(weight, labels.shape) * (labels != pad_id)
    if kind is TokenAccuracy:
        values = logits.argmax(-1) == labels
    else:
        values = token_losses(labels, logits, pad_id=pad_id)
    mean = (values * weight).sum() / weight.sum()
    return mean if kind is TokenAccuracy else np.exp(mean)


@each_kind
@pytest.mark.parametrize("pad_id", [0, 3])
def test_mean_over_the_real_tokens_of_all_batches(kind, pad_id):
    metric = kind(pad_id=pad_id)
    for labels, logits in zip(LABELS, LOGITS, strict=True):
        metric.update_state(labels, logits)
    value = expected(kind, LABELS, LOGITS, pad_id=pad_id)
    assert float(metric.result()) == pytest.approx(value, rel=1e-5)
    metric.reset_state()
    metric.update_state(LABELS[0], LOGITS[0])
    value = expected(kind, LABELS[0], LOGITS[0], pad_id=pad_id)
    assert float(metric.result()) == pytest.approx(value, rel=1e-5)


@each_kind
@pytest.mark.parametrize("shape", [(6,), (6, 5)])
def test_sample_weights(kind, shape):
    weight = RNG.random(shape).astype("float32")
    metric = kind()
    metric.update_state(LABELS[0], LOGITS[0], sample_weight=weight)
    wide = weight[:, None] if len(shape) == 1 else weight
    value = expected(kind, LABELS[0], LOGITS[0], wide)
    assert float(metric.result()) == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize(("kind", "value"), [(TokenAccuracy, 0.0), (Perplexity, 1.0)])
def test_no_real_token(kind, value):
    metric = kind()
    assert float(metric.result()) == value
    metric.update_state(np.zeros((2, 3), "int32"), LOGITS[0][:2, :3])
    assert float(metric.result()) == value


def accuracies(labels, logits):
    """Accuracy of each token on its own."""
    found = []
    for label, row in zip(labels, logits, strict=True):
        metric = TokenAccuracy()
        metric.update_state(np.array([[label]]), np.array([[row]], "float32"))
        found.append(float(metric.result()))
    return found


def test_accuracy_of_ties_of_unknown_labels_and_of_nan():
    nan = float("nan")
    rows = [[0, 2, 2], [0, 2, 2], [3, 2, 2], [0, 1, 9], [9, 1, 2], [nan, 1, nan]]
    assert accuracies([1, 2, 2, 3, -1, 1], rows) == [1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32"])
def test_accuracy_of_other_dtypes_of_labels(dtype):
    logits = np.zeros((1, 2, 300), "float32")
    logits[0, :, 7] = 1
    metric = TokenAccuracy()
    metric.update_state(np.array([[7, 8]], dtype), logits)
    assert float(metric.result()) == 0.5


@each_kind
def test_config(kind):
    metric = kind(pad_id=2, name="mine")
    back = keras.metrics.deserialize(keras.metrics.serialize(metric))
    assert type(back) is kind
    assert (back.pad_id, back.name) == (2, "mine")
    assert kind().name == {TokenAccuracy: "token_accuracy"}.get(kind, "perplexity")


@each_kind
def test_shapes_that_do_not_fit(kind):
    with pytest.raises(ValueError, match=r"Labels must have shape.*Received: \("):
        kind().update_state(LABELS[0][..., None], LOGITS[0])
