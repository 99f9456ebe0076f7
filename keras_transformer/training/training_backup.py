"""Training that goes on where it was interrupted."""

import logging
from contextlib import nullcontext
from pathlib import Path

import keras
import numpy as np

from keras_transformer.training.array_file import read_arrays, write_arrays
from keras_transformer.training.training_clock import TrainingClock
from keras_transformer.training.variable_values import (
    assign_values,
    checked_values,
    values_of,
    variables_of,
)

FILE = "backup.npz"
logger = logging.getLogger(__name__)


class TrainingBackup(keras.callbacks.Callback):
    """Save all that training depends on, so that it goes on as if never interrupted.

    ```
    backup = TrainingBackup("backup", data=data)
    model.fit(data.train, epochs=10, initial_epoch=backup.restore(model),
              callbacks=[backup])
    ```

    The file holds the model's variables with the states of its seeds, the optimizer's
    with its step (on which a schedule depends), the number of epochs that are done, the
    place in the data, and the averages. It is replaced as a whole. The backup stands
    last in `callbacks`. An epoch that another callback has ended before its last batch
    begins again, with the batches that come next. Weights with NaN or infinity are not
    saved: the file stays, and an error is logged.

    What callbacks of other kinds remember is not in the file (`EarlyStopping` counts
    anew), nor is the order of arrays that `fit` shuffles by itself. A learning rate
    that is a number comes back as it was saved; the settings of a schedule are not in
    the file. On PyTorch a `Dropout` of Keras has a state that can be saved only if it
    was given a seed, as those of this library are.

    For epochs of `fit` that are no epochs of the data give `fit` an endless dataset:
    `fit(data.train.repeat(), steps_per_epoch=1000, ...)`.

    Args:
        folder: where to; made if there is none.
        data: the `TranslationData` whose `train` is the data of `fit`.
        averaging: a `CheckpointAveraging` that stands before the backup.
        every: `"epoch"`, or a number of steps after which to save too. A run that goes
            on from within an epoch begins it again, with the batches that come next.

    Raises:
        ValueError: for another `every`.
    """

    def __init__(self, folder, *, data=None, averaging=None, every="epoch"):
        super().__init__()
        self.path = Path(folder) / FILE
        self.data = data
        self.averaging = averaging
        self._clock = TrainingClock(every)
        self._start = 0  # place in the data at which `fit` began, in batches
        self._epoch = 0
        self._epoch_batches = None  # number of batches of an epoch of `fit`, if known
        self._updated = 0  # updates of the optimizer when the epoch began
        self._saved_steps = None  # the same, in what was restored

    def restore(self, model):
        """Give model, data and averaging the states that were saved last.

        Args:
            model: the compiled model.

        Returns:
            Number of epochs that are done, for `initial_epoch`; 0 without a backup.

        Raises:
            ValueError: if the variables of the model or of the optimizer have other
                names or shapes, or the data are others, and nothing has been changed
                then; if the model is not built or compiled.
        """
        strategy = getattr(model, "distribute_strategy", None)  # TensorFlow's
        with nullcontext() if strategy is None else strategy.scope():
            variables = variables_of(model)
            return self._restore(variables) if self.path.exists() else 0

    def _restore(self, variables):
        arrays, description = read_arrays(self.path)
        values = {
            group: checked_values(group, members, arrays, description["paths"][group])
            for group, members in variables.items()
        }
        self._check_parts(description)
        if self.averaging is not None:
            prefix = "averaging."
            self.averaging.set_state(
                {
                    name.removeprefix(prefix): array
                    for name, array in arrays.items()
                    if name.startswith(prefix)
                }
            )
        for group, members in variables.items():
            assign_values(members, values[group])
        if self.data is not None:
            place = divmod(description["position"], self._batches())
            self.data.epoch, self.data.batch = place
        self._saved_steps = description["epoch_steps"]
        return description["epoch"]

    def on_train_begin(self, logs=None):
        """Note where the data begin."""
        self._clock = TrainingClock(self._clock.every)
        self._check_steps(self.params["steps"])
        if self.data is None:
            return
        self._start = self.data.epoch * self._batches() + self.data.batch
        steps = self.params["steps"]
        self._epoch_batches = steps if steps == self._batches() else None
        if steps and steps != self._batches():
            self._check_whole_executions()

    def on_epoch_begin(self, epoch, logs=None):
        """Begin to count the epoch's batches."""
        self._epoch = epoch
        self._clock.begin_epoch(epoch)
        if self.model.steps_per_execution > 1:
            self._updated = int(self.model.optimizer.iterations)

    def on_train_batch_end(self, batch, logs=None):
        """Count the batch, and save if it is time to."""
        due = self._clock.end_batch(batch, self._epoch_batches)
        steps = self.params["steps"]
        if due and (steps is None or batch + 1 < steps):  # else the epoch's end saves
            self._save(self._epoch, batch)

    def on_epoch_end(self, epoch, logs=None):
        """Save."""
        self._clock.end_epoch(epoch)
        steps = self.params["steps"]
        if self._epoch_batches and self._trained_on_more():
            self._check_whole_executions()
        whole = steps is None or self._clock.epoch_steps >= steps
        self._save(epoch + 1 if whole else epoch)

    def _save(self, done, batch=None):
        variables = variables_of(self.model)
        values = {group: values_of(members) for group, members in variables.items()}
        if not self._finite(variables["model"], values["model"]):
            logger.error(
                "%s stays as it is: the weights are not finite after epoch %d.",
                self.path,
                self._epoch,
            )
            return
        arrays = {}
        if self.averaging is not None:
            self.averaging.check_seen(self._epoch, batch)
            state = self.averaging.get_state()
            arrays = {f"averaging.{name}": array for name, array in state.items()}
        for group, members in values.items():
            for place, value in enumerate(members):
                arrays[f"{group}.{place}"] = value
        description = {
            "epoch": done,
            "paths": {
                group: [variable.path for variable in members]
                for group, members in variables.items()
            },
            "averaging": self.averaging is not None,
            "data": self._data(),
            "epoch_steps": self.params["steps"],
            "position": self._start + self._clock.steps,
        }
        write_arrays(self.path, arrays, description)

    def _trained_on_more(self):
        """Whether Keras went beyond the epoch's steps, as it does on endless data."""
        if self.model.steps_per_execution == 1:
            return False
        updates = int(self.model.optimizer.iterations) - self._updated
        return updates > self.params["steps"]

    def _check_whole_executions(self):
        steps, at_once = self.params["steps"], self.model.steps_per_execution
        if steps % at_once:
            raise ValueError(
                "`steps_per_epoch` must be a multiple of `steps_per_execution`. "
                f"Received: {steps} and {at_once}."
            )

    def _batches(self):
        """Number of batches of an epoch of the data, `None` without any."""
        return None if self.data is None else int(self.data.train.cardinality())

    def _finite(self, variables, values):
        weights = set(map(id, self.model.trainable_variables))
        pairs = zip(variables, values, strict=True)
        return all(np.isfinite(value).all() for x, value in pairs if id(x) in weights)

    def _data(self):
        return None if self.data is None else self.data.description

    def _check_steps(self, steps):
        saved, self._saved_steps = self._saved_steps, None
        if None not in (saved, steps) and saved != steps:
            raise ValueError(
                "An epoch of `fit` must have as many steps as when the backup was "
                f"saved, {saved}. Received: {steps}."
            )

    def _check_parts(self, description):
        given = self.averaging is not None
        for name, saved, now in (
            ("averaging", description["averaging"], given),
            ("data", description["data"], self._data()),
        ):
            if saved != now:
                raise ValueError(
                    f"`{name}` must be as it was when `{self.path}` was saved: "
                    f"{saved}. Received: {now}."
                )
