"""Averages of the weights that training passes through."""

from collections import deque
from contextlib import contextmanager

import keras
import numpy as np

from keras_transformer.argument_checks import check_positive_integer
from keras_transformer.training.training_clock import TrainingClock
from keras_transformer.training.variable_values import assign_values, values_of


class CheckpointAveraging(keras.callbacks.Callback):
    """Validate with averaged weights, and keep the average in the end.

    ```
    last = N:   average = (w_t + w_(t-1) + ... + w_(t-N+1)) / N
    decay = d:  average = d * average + (1 - d) * w_t,   from average = w_1 on
    ```

    Training itself goes on with its own weights `w`: the model holds the average while
    `fit` validates, inside `with averaging.averaged():`, and after `fit`. Trainable
    weights are averaged; seeds, statistics and the state of the optimizer are not. What
    uses the average stands after this callback in `callbacks`. `ModelCheckpoint` and
    `EarlyStopping(restore_best_weights=True)` do not use it: they keep the weights of
    training, which the latter puts in the average's place in the end. To keep the best
    average there is `BleuCallback(best=...)`.

    Averages are float32, in the memory of the host: one model, or `last` models, twice
    while a `TrainingBackup` is written.

    Args:
        last: number of weights in the mean, those of the last epochs' ends.
        decay: decay of an exponential mean, in (0, 1).
        every: `"epoch"`, or number of steps from one copy of the weights to the next;
            an epoch for `last` and 1 for `decay` if not given. Where Keras runs several
            steps at once, the weights between them are not seen.
        validate: whether the model holds the average while `fit` validates.

    Raises:
        ValueError: for both or none of `last` and `decay`, or numbers out of range.

    Examples:
        >>> import keras
        >>> import numpy as np
        >>> from keras_transformer import CheckpointAveraging
        >>> model = keras.Sequential([keras.layers.Dense(1, use_bias=False)])
        >>> model.compile(keras.optimizers.SGD(0.1), "mse")
        >>> model.build((None, 1))
        >>> model.set_weights([np.zeros((1, 1))])
        >>> x = y = np.ones((1, 1))
        >>> averaging = CheckpointAveraging(last=2)
        >>> _ = model.fit(x, y, epochs=3, verbose=0, callbacks=[averaging])
        >>> print(f"{model.get_weights()[0].item():.3f}")  # weights 0.2, 0.36, 0.488
        0.424

    Reference: Vaswani et al., 2017, "Attention Is All You Need", section 6.1.
    """

    def __init__(self, last=None, *, decay=None, every=None, validate=True):
        super().__init__()
        if (last is None) == (decay is None):
            raise ValueError(
                "One of `last` and `decay` must be given, not both. "
                f"Received: {last!r} and {decay!r}."
            )
        if last is not None:
            last = check_positive_integer("last", last)
        elif not isinstance(decay, (float, np.floating)) or not 0 < decay < 1:
            raise ValueError(f"`decay` must be in (0, 1). Received: {decay!r}.")
        self.decay = decay
        self.validate = validate
        if every is None:
            every = "epoch" if decay is None else 1
        self._clock = TrainingClock(every)
        self._copies = deque(maxlen=last or 1)
        self._own = None  # training's weights while the model holds the average
        self._held = []  # and the average as the model holds it
        self._averaged_model = None  # whose weights have been seen
        self._fitting = False
        self._taken = False  # whether this epoch's last weights are in the average

    @contextmanager
    def averaged(self):
        """Give the model the average inside a `with`, and its own weights after it.

        Without any weights seen yet the model keeps its own.
        """
        if not self._copies or self._own is not None:
            yield
            return
        self._swap_in()
        try:
            yield
        finally:
            self._swap_out()

    def check_seen(self, epoch, batch=None):
        """Raise `ValueError` unless a batch, or an epoch's end, has been seen."""
        if self._clock.place != (epoch, batch):
            raise ValueError(
                "`averaging` must be in `callbacks`, before the callbacks that use it. "
                f"Received: one that has not seen epoch {epoch} end"
                + ("." if batch is None else f" batch {batch}.")
            )

    def get_state(self):
        """Return all that the average depends on, a dictionary of arrays."""
        weights = zip(*self._copies, strict=True)
        return {
            "decay": np.array(self.decay or 0.0),
            "steps": np.array(self._clock.steps),
            **{str(place): np.stack(values) for place, values in enumerate(weights)},
        }

    def set_state(self, arrays):
        """Go on from what `get_state` returned.

        Raises:
            ValueError: for the state of another kind of average.
        """
        if (self.decay or 0) != float(arrays["decay"]):
            raise ValueError(
                "The state must be that of an average with the same `decay`. "
                f"Received: {float(arrays['decay']) or None} for {self.decay}."
            )
        weights = [arrays[str(place)] for place in range(len(arrays) - 2)]
        self._copies.clear()
        self._copies.extend(
            [np.array(w) for w in copy] for copy in zip(*weights, strict=True)
        )
        self._clock.steps = int(arrays["steps"])
        self._own = None
        self._averaged_model = None  # the next that trains

    def on_train_begin(self, logs=None):
        """Put training's weights back if a validation was broken off.

        Another model than before begins a new average.
        """
        self._fitting = True
        if self._averaged_model not in (None, self.model):
            self._copies.clear()
            self._own = None
            self._clock = TrainingClock(self._clock.every)
        self._averaged_model = self.model
        if self._own is not None and self._holds_average():
            self._swap_out()
        self._own = None

    def on_epoch_begin(self, epoch, logs=None):
        """Begin to count the epoch's steps."""
        self._clock.begin_epoch(epoch)
        self._taken = False

    def on_train_batch_end(self, batch, logs=None):
        """Take the weights if they are due."""
        if self._clock.end_batch(batch, (self.params or {}).get("steps")):
            self._take()

    def on_test_begin(self, logs=None):
        """Give the model the average, which has this epoch's weights already."""
        if self._fitting and self.validate and self._own is None:
            if self._clock.every == "epoch" and not self._taken:
                self._take()
            if self._copies:
                self._swap_in()

    def on_test_end(self, logs=None):
        """Give the model training's weights."""
        if self._own is not None:
            self._swap_out()

    def on_epoch_end(self, epoch, logs=None):
        """Take the weights if they are due."""
        if self._clock.end_epoch(epoch) and not self._taken:
            self._take()

    def on_train_end(self, logs=None):
        """Give the model the average, to keep."""
        self._fitting = False
        if self._copies:
            assign_values(self.model.trainable_variables, self._mean())

    def _take(self):
        self._taken = True
        variables = self.model.trainable_variables
        values = [value.astype("float32") for value in values_of(variables)]
        if self._copies and len(values) != len(self._copies[0]):
            raise ValueError(
                "The model must have as many trainable weights as when they were "
                f"averaged, {len(self._copies[0])}. Received: {len(values)}."
            )
        if self.decay is None or not self._copies:
            self._copies.append(values)
            return
        for mean, value in zip(self._copies[0], values, strict=True):
            mean *= self.decay
            mean += (1 - self.decay) * value

    def _mean(self):
        number = np.float32(len(self._copies))
        return [sum(values) / number for values in zip(*self._copies, strict=True)]

    def _swap_in(self):
        variables = self.model.trainable_variables
        self._own = values_of(variables)
        assign_values(variables, self._mean())
        self._held = values_of(variables)

    def _swap_out(self):
        assign_values(self.model.trainable_variables, self._own)
        self._own, self._held = None, []

    def _holds_average(self):
        now = values_of(self.model.trainable_variables)
        pairs = zip(now, self._held, strict=True)
        return all(np.array_equal(*pair, equal_nan=True) for pair in pairs)
