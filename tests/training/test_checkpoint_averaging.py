"""Averages of weights, beside a plain record of what training passed through."""

import keras
import numpy as np
import pytest

from keras_transformer import CheckpointAveraging

RNG = np.random.default_rng(11)
X = RNG.normal(size=(12, 3)).astype("float32")
Y = (X @ RNG.normal(size=(3, 2))).astype("float32")


class Record(keras.callbacks.Callback):
    """The weights at the ends of steps and epochs, and while `fit` validates."""

    def __init__(self):
        super().__init__()
        self.steps, self.epochs, self.validations = [], [], []

    def on_train_batch_end(self, batch, logs=None):
        self.steps.append(self.model.get_weights())

    def on_epoch_end(self, epoch, logs=None):
        self.epochs.append(self.model.get_weights())

    def on_test_batch_begin(self, batch, logs=None):
        self.validations.append(self.model.get_weights())


def small_model(dtype=None, **options):
    model = keras.Sequential(
        [
            keras.layers.Dense(4, activation="tanh", dtype=dtype),
            keras.layers.BatchNormalization(dtype=dtype),
            keras.layers.Dropout(0.2),
            keras.layers.Dense(2, dtype=dtype),
        ]
    )
    model.build((None, 3))
    model.compile(keras.optimizers.Adam(0.1), "mse", jit_compile=False, **options)
    return model


def fit(averaging, epochs=5, model=None, **options):
    model = model or small_model()
    record = Record()
    history = model.fit(
        X, Y, batch_size=4, epochs=epochs, verbose=0, shuffle=False,
        callbacks=[averaging, record], **options,
    )  # fmt: skip
    return model, record, history.history


def trainable(weights):
    """The trainable ones of `get_weights`: statistics of a batch stand elsewhere."""
    return [*weights[:4], *weights[6:]]


def mean(records):
    weights = zip(*map(trainable, records), strict=True)
    return [np.mean(copies, axis=0, dtype="float64") for copies in weights]


def decayed(records, decay):
    average = trainable(records[0])
    for weights in map(trainable, records[1:]):
        average = [
            decay * a + (1 - decay) * w for a, w in zip(average, weights, strict=True)
        ]
    return average


def assert_same(actual, expected, tolerance=1e-6):
    assert len(actual) == len(expected) == 6
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=tolerance, rtol=tolerance)


def test_mean_of_the_last_epochs():
    model, record, _ = fit(CheckpointAveraging(3))
    assert_same(trainable(model.get_weights()), mean(record.epochs[2:]))
    # Statistics are training's own.
    for own, kept in zip(record.epochs[-1][4:6], model.get_weights()[4:6], strict=True):
        np.testing.assert_array_equal(own, kept)


def test_mean_of_fewer_epochs_than_asked_for():
    model, record, _ = fit(CheckpointAveraging(last=10), epochs=2)
    assert_same(trainable(model.get_weights()), mean(record.epochs))


def test_mean_at_steps():
    model, record, _ = fit(CheckpointAveraging(2, every=4))  # 15 steps: 8 and 12
    assert_same(
        trainable(model.get_weights()), mean([record.steps[7], record.steps[11]])
    )


@pytest.mark.parametrize(("every", "first"), [(None, 0), (2, 1), ("epoch", 2)])
def test_exponential_mean(every, first):
    model, record, _ = fit(CheckpointAveraging(decay=0.7, every=every))
    seen = record.steps[first :: {None: 1, 2: 2, "epoch": 3}[every]]
    assert len(seen) > 3
    assert_same(trainable(model.get_weights()), decayed(seen, 0.7))


def test_averaging_changes_nothing_in_training():
    def epochs(averaging):
        keras.utils.set_random_seed(3)
        return fit(averaging, validation_data=(X, Y))[1].epochs

    plain = epochs(keras.callbacks.Callback())
    for averaging in (CheckpointAveraging(2), CheckpointAveraging(decay=0.5)):
        for one, other in zip(plain, epochs(averaging), strict=True):
            for a, b in zip(one, other, strict=True):
                np.testing.assert_allclose(a, b, atol=1e-7)


@pytest.mark.parametrize("settings", [{"last": 2}, {"decay": 0.5}])
def test_validation_sees_the_average_of_all_epochs_so_far(settings):
    model, record, history = fit(
        CheckpointAveraging(**settings), epochs=3, validation_data=(X[:4], Y[:4])
    )
    for epoch, weights in enumerate(record.validations):
        if "last" in settings:
            expected = mean(record.epochs[max(0, epoch - 1) : epoch + 1])
        else:
            expected = decayed(record.steps[: 3 * (epoch + 1)], 0.5)
        assert_same(trainable(weights), expected)
    assert len(record.validations) == 3
    kept = model.evaluate(X[:4], Y[:4], verbose=0)
    assert kept == pytest.approx(history["val_loss"][-1], rel=1e-5)


def test_validation_can_see_the_weights_of_training():
    averaging = CheckpointAveraging(2, validate=False)
    _, record, _ = fit(averaging, epochs=3, validation_data=(X[:4], Y[:4]))
    for seen, own in zip(record.validations, record.epochs, strict=True):
        assert_same(trainable(seen), trainable(own))


def test_outside_of_fit_an_evaluation_changes_nothing():
    averaging = CheckpointAveraging(2)
    model, record, _ = fit(averaging, epochs=3)
    model.set_weights(record.steps[0])
    seen = Record()
    model.evaluate(X, Y, verbose=0, callbacks=[averaging, seen])
    assert_same(trainable(seen.validations[0]), trainable(record.steps[0]))
    assert_same(trainable(model.get_weights()), trainable(record.steps[0]))


def test_averaged_gives_the_average_and_takes_it_back():
    class Look(keras.callbacks.Callback):
        def look(self):
            with averaging.averaged():
                self.inside = self.model.get_weights()
                with averaging.averaged():
                    assert_same(
                        trainable(self.model.get_weights()), mean(record.epochs[-2:])
                    )
                assert_same(
                    trainable(self.model.get_weights()), mean(record.epochs[-2:])
                )
                raise KeyError

        def on_epoch_end(self, epoch, logs=None):
            own = trainable(self.model.get_weights())
            with pytest.raises(KeyError):
                self.look()
            assert_same(trainable(self.model.get_weights()), own, tolerance=0)

    averaging, record, look = CheckpointAveraging(2), Record(), Look()
    with averaging.averaged():
        pass  # nothing seen yet: nothing to give
    small_model().fit(X, Y, epochs=3, verbose=0, callbacks=[averaging, record, look])
    assert_same(trainable(look.inside), mean(record.epochs[1:]))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_validation_that_is_broken_off_leaves_no_trace_in_the_next_fit(dtype):
    class Break(Record):
        def on_test_batch_begin(self, batch, logs=None):
            super().on_test_batch_begin(batch)
            raise KeyboardInterrupt

    class Begin(Record):
        def on_train_batch_begin(self, batch, logs=None):
            self.steps.append(self.model.get_weights())

    averaging, model = CheckpointAveraging(decay=0.5), small_model(dtype=dtype)
    broken, begin = Break(), Begin()
    tolerance = 1e-6 if dtype == "float32" else 1e-2
    options = {"verbose": 0, "validation_data": (X, Y)}
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, callbacks=[averaging, broken], **options)
    average = decayed(broken.steps, 0.5)
    assert_same(trainable(model.get_weights()), average, tolerance)
    model.fit(X, Y, callbacks=[averaging, begin], verbose=0)
    assert_same(trainable(begin.steps[0]), trainable(broken.steps[-1]), tolerance=0)


def test_another_model_begins_another_average():
    averaging = CheckpointAveraging(3)
    fit(averaging, epochs=2)
    model, record, _ = fit(averaging, epochs=2)
    assert_same(trainable(model.get_weights()), mean(record.epochs))
    fit(averaging, epochs=1, model=model)  # goes on, and has three weights then
    assert len(averaging.get_state()["0"]) == 3


def test_fewer_weights_than_before_are_refused():
    averaging = CheckpointAveraging(2)
    model, _, _ = fit(averaging, epochs=1)
    model.layers[0].trainable = False
    model.compile("sgd", "mse", jit_compile=False)
    with pytest.raises(ValueError, match=r"as many trainable .* 6. Received: 4"):
        fit(averaging, epochs=1, model=model)


def test_state_goes_on_elsewhere():
    settings = {"last": 2, "every": 4}
    averaging, other = CheckpointAveraging(**settings), CheckpointAveraging(**settings)
    model, first, _ = fit(averaging, epochs=2)  # 6 steps: one average, two steps over
    model.set_weights(first.steps[-1])
    other.set_state(averaging.get_state())
    model, second, _ = fit(other, epochs=1, model=model)
    assert_same(trainable(model.get_weights()), mean([first.steps[3], second.steps[1]]))
    with pytest.raises(ValueError, match=r"same `decay`. Received: None for 0.5"):
        CheckpointAveraging(decay=0.5).set_state(averaging.get_state())
    empty = CheckpointAveraging(2).get_state()
    averaging.set_state(empty)
    assert averaging.get_state().keys() == empty.keys() == {"decay", "steps"}


def test_mixed_precision_is_averaged_in_float32():
    model = keras.Sequential([keras.layers.Dense(2, dtype="bfloat16")])
    model.build((None, 3))
    model.compile("sgd", "mse", jit_compile=False)
    averaging = CheckpointAveraging(decay=0.999)
    model.fit(X, Y, epochs=2, verbose=0, callbacks=[averaging])
    arrays = averaging.get_state()
    assert {arrays["0"].dtype, arrays["1"].dtype} == {np.dtype("float32")}
    assert model.trainable_variables[0].dtype == "bfloat16"


def test_decay_of_numpy():
    assert CheckpointAveraging(decay=np.float32(0.5)).decay == 0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "One of `last` and `decay` .* Received: None and None"),
        ({"last": 2, "decay": 0.9}, "One of .* Received: 2 and 0.9"),
        ({"last": 0}, "`last` must be an integer of at least 1. Received: 0"),
        ({"decay": 1.0}, r"`decay` must be in \(0, 1\). Received: 1.0"),
        ({"decay": 0}, r"`decay` must be in \(0, 1\). Received: 0"),
        ({"last": 2, "every": 0}, "`every` must be an integer of at least 1"),
        ({"last": 2, "every": "step"}, "`every` must be .* Received: 'step'"),
    ],
)
def test_arguments_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        CheckpointAveraging(**settings)
