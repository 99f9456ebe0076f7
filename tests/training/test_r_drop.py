import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import RDrop, SmoothedCrossEntropy
from tests.backends import array_of, assert_close
from tests.training.runs import transformer

RNG = np.random.default_rng(51)
SOURCE = RNG.integers(3, 10, (4, 6)).astype("int32")
TARGET = RNG.integers(3, 10, (4, 5)).astype("int32")
TARGET[0, 2:] = TARGET[3, 4:] = 0
INPUTS = {"source_ids": SOURCE, "target_ids": TARGET}
LOGITS = (2 * RNG.normal(size=(2, 4, 5, 10))).astype("float32")


@keras.saving.register_keras_serializable("tests")
class TwoAnswers(keras.Model):
    """Gives other logits the second time, whatever it is asked."""

    def __init__(self, answers, **kwargs):
        super().__init__(**kwargs)
        self.answers = answers
        self.calls = 0

    def call(self, inputs, training=None):
        self.calls += 1
        return ops.convert_to_tensor(self.answers[(self.calls - 1) % 2])


def divergence(logits, others, real):
    """KL in both directions, token by token."""
    values = []
    for rows in zip(logits[real], others[real], strict=True):
        p, q = (np.exp(row.astype("float64")) for row in rows)
        p, q = p / p.sum(), q / q.sum()
        values.append((p * np.log(p / q)).sum() + (q * np.log(q / p)).sum())
    return np.mean(values)


def loss_added(answers, **options):
    model = RDrop(TwoAnswers(answers), **options)
    logits = model(INPUTS, training=True)
    assert_close(logits, answers[0])
    (loss,) = model.losses
    return float(array_of(loss))


@pytest.mark.parametrize("options", [{}, {"weight": 2.0}, {"weight": 1, "pad_id": 7}])
def test_formula(options):
    real = options.get("pad_id", 0) != TARGET
    expected = options.get("weight", 5.0) / 4 * divergence(*LOGITS, real)
    assert loss_added(LOGITS, **options) == pytest.approx(expected, rel=1e-5)


def test_equal_passes_add_nothing():
    assert loss_added(LOGITS[[0, 0]]) == 0


def test_what_stands_at_padding_does_not_count():
    logits = LOGITS.copy()
    logits[:, TARGET == 0] = float("nan")
    model = RDrop(TwoAnswers(logits))
    model(INPUTS, training=True)
    assert float(array_of(model.losses[0])) == pytest.approx(loss_added(LOGITS))


def test_outside_training_it_is_the_model():
    model = transformer()
    wrapped = RDrop(model)
    assert_close(wrapped(INPUTS, training=False), model(INPUTS, training=False))
    assert not wrapped.losses


def test_training_makes_the_passes_agree():
    labels = np.where(TARGET == 0, 0, SOURCE[:, :5])

    def agreement(weight):
        keras.utils.set_random_seed(1)
        model = transformer()
        wrapped = RDrop(model, weight)
        wrapped.compile(keras.optimizers.Adam(0.01), SmoothedCrossEntropy())
        history = wrapped.fit(INPUTS, labels, epochs=30, batch_size=4, verbose=0)
        losses = history.history["loss"]
        assert losses[-1] < losses[0]
        passes = [array_of(model(INPUTS, training=True)) for _ in range(8)]
        pairs = zip(passes[::2], passes[1::2], strict=True)
        return np.mean([divergence(*pair, TARGET != 0) for pair in pairs])

    assert agreement(20.0) < 0.5 * agreement(1e-6)


def test_config():
    wrapped = RDrop(transformer(), 3.0, pad_id=2, name="mine")
    back = RDrop.from_config(wrapped.get_config())
    assert (back.weight, back.pad_id, back.name) == (3.0, 2, "mine")
    assert back.model.get_config() == wrapped.model.get_config()


def test_it_is_saved_and_loaded(tmp_path):
    wrapped = RDrop(transformer(), 3.0)
    expected = wrapped(INPUTS)
    wrapped.save(tmp_path / "pair.keras")
    wrapped.save_weights(tmp_path / "pair.weights.h5")
    back = keras.saving.load_model(tmp_path / "pair.keras")
    assert back.weight == 3.0
    assert_close(back(INPUTS), expected)
    other = RDrop(transformer(), 3.0)
    other(INPUTS)
    other.load_weights(tmp_path / "pair.weights.h5")
    assert_close(other.model(INPUTS), expected)


@pytest.mark.parametrize("weight", [0, -1.0, "2", None])
def test_wrong_weights(weight):
    with pytest.raises((ValueError, TypeError), match="`weight`"):
        RDrop(transformer(), weight)
