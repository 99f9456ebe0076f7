"""O6: the loss and the accuracy count real tokens only."""

import numpy as np
import pytest

from keras_transformer import Perplexity, SmoothedCrossEntropy, TokenAccuracy
from tests.backends import compiled, gradients

LABELS = np.array([[1, 0, 0, 0], [2, 0, 0, 0]])
LOGITS = np.random.default_rng(6).normal(size=(2, 4, 4)).astype("float32")
LOGITS[0, 0] = np.log([0.1, 0.7, 0.1, 0.1])
LOGITS[1, 0] = np.log([0.2, 0.2, 0.5, 0.1])
BROKEN = np.where((LABELS != 0)[..., None], LOGITS, np.nan).astype("float32")
each_logits = pytest.mark.parametrize("logits", [LOGITS, BROKEN], ids=["random", "nan"])


@each_logits
@pytest.mark.parametrize(("smoothing", "value"), [(0.0, 0.524911), (0.1, 0.640908)])
def test_known_losses(logits, smoothing, value):
    loss = SmoothedCrossEntropy(smoothing)
    assert float(loss(LABELS, logits)) == pytest.approx(value, abs=1e-6)
    in_graph = compiled(lambda x: loss(LABELS, x))
    assert float(in_graph(logits)) == pytest.approx(value, abs=1e-6)
    assert not np.isclose(float(loss(LABELS, logits)), 0.131228)


@each_logits
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradient_at_padding_is_zero(logits, smoothing):
    loss = SmoothedCrossEntropy(smoothing)
    (gradient,) = gradients(lambda x: loss(LABELS, x), logits)
    np.testing.assert_array_equal(gradient[LABELS == 0], 0.0)
    probabilities = np.exp(LOGITS[:, 0])
    target = np.eye(4)[[1, 2]] * (1 - smoothing) + smoothing / 4
    np.testing.assert_allclose(gradient[:, 0], (probabilities - target) / 2, atol=1e-6)


@each_logits
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_padding_only(logits, smoothing):
    loss, labels = SmoothedCrossEntropy(smoothing), np.zeros((2, 4), "int32")
    assert float(loss(labels, logits)) == 0.0
    (gradient,) = gradients(lambda x: loss(labels, x), logits)
    np.testing.assert_array_equal(gradient, 0.0)


def test_predicting_padding_everywhere_is_wrong_everywhere():
    labels = np.array([[1, 2, 0, 0, 0, 0]])
    logits = np.zeros((1, 6, 4), "float32")
    logits[..., 0] = 9.0
    metric = TokenAccuracy()
    metric.update_state(labels, logits)
    assert float(metric.result()) == 0.0


@each_logits
def test_metrics_count_real_tokens(logits):
    accuracy, perplexity = TokenAccuracy(), Perplexity()
    for metric in (accuracy, perplexity):
        metric.update_state(LABELS, logits)
    assert float(accuracy.result()) == 1.0
    assert float(perplexity.result()) == pytest.approx(np.exp(0.524911), abs=1e-5)
