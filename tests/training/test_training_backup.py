"""An interrupted run goes on as if it had not been interrupted."""

import keras
import numpy as np
import pytest

from keras_transformer import CheckpointAveraging, RDrop, TrainingBackup
from keras_transformer.training.array_file import read_arrays
from tests.backends import BACKEND
from tests.training.runs import (
    assert_same_state,
    fit,
    letter_data,
    letter_model,
    scheduled,
    state_of,
    transformer,
)

EPOCHS = 4


def whole_run(averaging=None, endless=False, make=letter_model, **options):
    model, data = make(0), letter_data()
    train = data.train.repeat() if endless else data.train
    fit(model, train, [averaging] if averaging else [], epochs=EPOCHS, **options)
    return model


def resumed_run(
    folder,
    interrupt,
    averaging=lambda: None,
    endless=False,
    make=letter_model,
    **options,
):
    """A run that is interrupted, and one of new objects that goes on."""
    for seed, stop in ((0, interrupt), (99, None)):
        model, data, average = make(seed), letter_data(), averaging()
        train = data.train.repeat() if endless else data.train
        backup = TrainingBackup(folder, data=data, averaging=average)
        begin = backup.restore(model)
        assert begin == (0 if stop else interrupt[0])
        callbacks = [average, backup] if average else [backup]
        fit(
            model, train, callbacks, stop, initial_epoch=begin, epochs=EPOCHS, **options
        )
    return model, average


def seeded_transformer(seed):
    keras.utils.set_random_seed(seed)
    return scheduled(transformer())


def test_whole_epochs_of_a_transformer(tmp_path):
    model, _ = resumed_run(tmp_path, interrupt=(2, 3), make=seeded_transformer)
    expected = whole_run(make=seeded_transformer)
    assert_same_state(state_of(model), state_of(expected))
    steps = EPOCHS * int(letter_data().train.cardinality())
    assert int(model.optimizer.iterations) == steps
    seeds = [v for v in model.variables if "seed_generator_state" in v.path]
    assert len(seeds) > 2
    assert any(np.array(v.numpy()).any() for v in seeds)
    saved = read_arrays(tmp_path / "backup.npz")[1]["paths"]["model"]
    assert sum("seed_generator_state" in path for path in saved) == len(seeds)


def accumulating_model(seed):
    optimizer = keras.optimizers.Adam(0.01, gradient_accumulation_steps=3)
    return letter_model(seed, optimizer=optimizer)


def scaling_model(seed):
    scaling = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.Adam(0.01), dynamic_growth_steps=5
    )
    return letter_model(seed, optimizer=scaling)


def twice_passed_model(seed):
    pair = RDrop(letter_model(seed))
    pair.build({"source_ids": (None, 10), "target_ids": (None, 10)})
    return scheduled(pair)


@pytest.mark.parametrize(
    "make", [accumulating_model, scaling_model, twice_passed_model]
)
def test_other_states_of_training(tmp_path, make):
    model, _ = resumed_run(tmp_path, interrupt=(2, 3), make=make)
    expected = whole_run(make=make)
    assert_same_state(state_of(model), state_of(expected))


@pytest.mark.parametrize("endless", [False, True])
def test_epochs_that_end_within_an_epoch_of_the_data(tmp_path, endless):
    batches = int(letter_data().train.cardinality())
    assert batches % 2 == 0
    # Half an epoch of the data, or endless data and a number that never comes out even.
    options = {"steps_per_epoch": batches - 1 if endless else batches // 2}
    options["endless"] = endless
    model, _ = resumed_run(tmp_path, interrupt=(1, 1), **options)
    position = read_arrays(tmp_path / "backup.npz")[1]["position"]
    assert position == EPOCHS * options["steps_per_epoch"]
    assert_same_state(state_of(model), state_of(whole_run(**options)))


@pytest.mark.parametrize(
    "settings", [{"last": 3}, {"decay": 0.9}, {"decay": 0.9, "every": 5}]
)
def test_averages(tmp_path, settings):
    def averaging():
        return CheckpointAveraging(**settings)

    expected_average = averaging()
    expected = whole_run(expected_average)
    model, average = resumed_run(tmp_path, (2, 3), averaging)
    assert_same_state(state_of(model), state_of(expected))
    state, expected_state = average.get_state(), expected_average.get_state()
    assert state.keys() == expected_state.keys()
    for name, value in state.items():
        np.testing.assert_allclose(value, expected_state[name], rtol=0, atol=1e-6)
        if BACKEND == "tensorflow":
            np.testing.assert_array_equal(value, expected_state[name])


@pytest.mark.parametrize(
    "settings", [{"decay": 0.5}, {"decay": 0.5, "every": 2}, {"last": 2, "every": 2}]
)
def test_an_epoch_that_is_broken_off_goes_on_with_the_next_batches(tmp_path, settings):
    averaging = CheckpointAveraging(**settings)
    model, data = letter_model(), letter_data()
    batches = int(data.train.cardinality())
    backup = TrainingBackup(tmp_path, data=data, averaging=averaging, every=4)
    fit(model, data.train, [averaging, backup], (0, 7), epochs=1)
    model, data = letter_model(7), letter_data()
    average = CheckpointAveraging(**settings)
    backup = TrainingBackup(tmp_path, data=data, averaging=average)
    assert backup.restore(model) == 0
    assert (data.epoch, data.batch) == (0, 4)  # after 7 batches, a multiple of 4
    fit(model, data.train, [average, backup], epochs=1)
    expected, data = letter_model(), letter_data()
    whole = CheckpointAveraging(**settings)
    steps = 4 + batches
    fit(expected, data.train.repeat(), [whole], epochs=1, steps_per_epoch=steps)
    assert_same_state(state_of(model), state_of(expected))
    state, expected_state = average.get_state(), whole.get_state()
    assert state.keys() == expected_state.keys()
    for name, value in state.items():
        np.testing.assert_allclose(value, expected_state[name], rtol=0, atol=1e-6)


def test_a_step_at_the_end_of_an_epoch_counts_the_epoch(tmp_path):
    model, data = letter_model(), letter_data()
    batches = int(data.train.cardinality())
    backup = TrainingBackup(tmp_path, data=data, every=batches)
    fit(model, data.train, [backup], (1, 0), epochs=2)
    assert read_arrays(backup.path)[1]["epoch"] == 1
    assert read_arrays(backup.path)[1]["position"] == batches


@pytest.mark.skipif(BACKEND == "torch", reason="Keras runs one step at a time there")
def test_several_steps_at_once(tmp_path):
    model, data = letter_model(), letter_data()
    batches = int(data.train.cardinality())
    at_once = next(number for number in (3, 4, 5) if batches % number)
    model.compile(
        model.optimizer, model.loss, steps_per_execution=at_once, jit_compile=False
    )
    backup = TrainingBackup(tmp_path, data=data)
    fit(model, data.train, [backup], epochs=2)
    assert read_arrays(backup.path)[1]["position"] == 2 * batches
    assert int(model.optimizer.iterations) == 2 * batches
    steps = next(n for n in range(at_once + 1, 99) if n % at_once and n != batches)
    with pytest.raises(ValueError, match=rf"multiple .* Received: {steps} and"):
        fit(model, data.train.repeat(), [backup], epochs=2, steps_per_epoch=steps)
    # Endless data in epochs of the data's own length: more batches are trained on.
    before = backup.path.read_bytes()
    with pytest.raises(ValueError, match=rf"multiple .* Received: {batches} and"):
        fit(model, data.train.repeat(), [backup], epochs=2, steps_per_epoch=batches)
    assert backup.path.read_bytes() == before


def test_without_a_backup_training_begins_at_its_beginning(tmp_path):
    model, data = letter_model(), letter_data()
    before = state_of(model)
    assert TrainingBackup(tmp_path / "new", data=data).restore(model) == 0
    assert (data.epoch, data.batch) == (0, 0)
    for one, other in zip(state_of(model)["model"], before["model"], strict=True):
        np.testing.assert_array_equal(one, other)


def saved_backup(folder, model=None):
    """A backup of one epoch of one batch of arrays."""
    x = {"source_ids": np.full((2, 3), 4), "target_ids": np.full((2, 2), 5)}
    model = model or letter_model()
    fit(model, x, [TrainingBackup(folder)], y=np.full((2, 2), 5), epochs=1)
    return model


def test_a_float_of_two_bytes_is_kept(tmp_path):
    model = saved_backup(tmp_path, letter_model(dtype="bfloat16"))
    assert {v.dtype for v in model.trainable_variables} == {"bfloat16"}
    other = letter_model(3, dtype="bfloat16")
    assert TrainingBackup(tmp_path).restore(other) == 1
    for one, two in zip(other.variables, model.variables, strict=True):
        assert (one.numpy() == two.numpy()).all()


def test_another_model_optimizer_or_data_is_refused(tmp_path):
    saved_backup(tmp_path)
    backup = TrainingBackup(tmp_path)
    with pytest.raises(
        ValueError, match=r"The model must have .*\(10, 6\) for .*10, 8"
    ):
        backup.restore(letter_model(hidden_dim=6))
    with pytest.raises(ValueError, match=r"have the 5 variables .* Received: 8"):
        backup.restore(letter_model(num_layers=2))
    model = letter_model()
    before = state_of(model)["model"]
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
    with pytest.raises(ValueError, match="The optimizer must have the variables"):
        backup.restore(model)
    model.compile(keras.optimizers.Adam(amsgrad=True), "mse")
    with pytest.raises(ValueError, match="The optimizer must have the"):
        backup.restore(model)
    for one, other in zip(state_of(model)["model"], before, strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match=r"`data` must be as .*None. Received: \{"):
        TrainingBackup(tmp_path, data=letter_data()).restore(letter_model())
    averaging = CheckpointAveraging(2)
    with pytest.raises(ValueError, match=r"`averaging` must be as .* Received: True"):
        TrainingBackup(tmp_path, averaging=averaging).restore(letter_model())
    unbuilt = keras.Sequential([keras.layers.Dense(1)])
    with pytest.raises(ValueError, match="`model` must be compiled"):
        backup.restore(unbuilt)
    unbuilt.compile("sgd", "mse")
    with pytest.raises(ValueError, match=r"`model` must be built .* built=False"):
        backup.restore(unbuilt)
    unbuilt.fit(np.ones((2, 3)), np.ones((2, 1)), verbose=0)  # nothing was spoilt


def test_another_order_of_the_data_and_other_epochs_are_refused(tmp_path):
    model, data = letter_model(), letter_data()
    options = {"epochs": 1, "steps_per_epoch": 2}
    fit(model, data.train, [TrainingBackup(tmp_path, data=data)], **options)
    with pytest.raises(ValueError, match=r"`data` must be .*'seed': 0.*'seed': 5"):
        TrainingBackup(tmp_path, data=letter_data(seed=5)).restore(letter_model())
    data = letter_data()
    backup = TrainingBackup(tmp_path, data=data)
    options = {"epochs": 2, "initial_epoch": backup.restore(model)}
    with pytest.raises(ValueError, match=r"as many steps .* 2. Received: 3"):
        fit(model, data.train, [backup], steps_per_epoch=3, **options)


class StopAt(keras.callbacks.Callback):
    """Ask `fit` to stop after a batch, as callbacks with a time limit do."""

    def __init__(self, batch):
        super().__init__()
        self.batch = batch

    def on_train_batch_end(self, batch, logs=None):
        self.model.stop_training |= batch == self.batch


def test_an_epoch_that_a_callback_ends_early_is_not_done(tmp_path):
    model, data = letter_model(), letter_data()
    fit(model, data.train, [StopAt(2), TrainingBackup(tmp_path, data=data)], epochs=9)
    model, data = letter_model(7), letter_data()
    backup = TrainingBackup(tmp_path, data=data)
    assert backup.restore(model) == 0
    assert (data.epoch, data.batch) == (0, 3)
    fit(model, data.train, [backup], epochs=1)
    expected, data = letter_model(), letter_data()
    steps = 3 + int(data.train.cardinality())
    fit(expected, data.train.repeat(), [], epochs=1, steps_per_epoch=steps)
    assert_same_state(state_of(model), state_of(expected))


def test_weights_that_are_not_finite_do_not_replace_a_backup(tmp_path, caplog):
    model, data = letter_model(), letter_data()
    backup = TrainingBackup(tmp_path, data=data)
    fit(model, data.train, [backup], epochs=1)
    before = backup.path.read_bytes()
    weights = model.get_weights()
    model.set_weights([weights[0] * np.inf, *weights[1:]])
    fit(model, data.train, [backup], epochs=2, initial_epoch=1)
    assert backup.path.read_bytes() == before
    assert "weights are not finite after epoch 1" in caplog.text


def test_the_average_must_have_seen_the_epoch(tmp_path):
    averaging, data = CheckpointAveraging(2), letter_data()
    backup = TrainingBackup(tmp_path, data=data, averaging=averaging)
    with pytest.raises(ValueError, match="`averaging` must be in `callbacks`, before"):
        fit(letter_model(), data.train, [backup, averaging], epochs=1)
    assert not backup.path.exists()


@pytest.mark.parametrize("every", [0, 1.5, "step"])
def test_every_is_checked(tmp_path, every):
    with pytest.raises(ValueError, match="`every` must be"):
        TrainingBackup(tmp_path, every=every)
