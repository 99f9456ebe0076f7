"""Training that ends when its time is over, whatever a step costs."""

import math
import time

import keras

EVERY = 20  # steps from one point of a curve to the next


class TimeBudget(keras.callbacks.Callback):
    """End training after some seconds, with the rate falling to zero till then.

    The rate rises in the first tenth, then follows a quarter of a cosine. The clock
    starts after the first step, which compiles.

    Args:
        seconds: how long to train.
        rate: the highest learning rate.

    Attributes:
        steps: number of steps.
        curve: list of pairs, the seconds and the mean loss of the steps since the last.
    """

    def __init__(self, seconds, rate):
        super().__init__()
        self.seconds, self.rate = seconds, rate
        self.start, self.steps, self.curve = None, 0, []

    @property
    def elapsed(self):
        """Seconds since the end of the first step."""
        return 0.0 if self.start is None else time.perf_counter() - self.start

    def on_epoch_begin(self, epoch, logs=None):
        """Keras's mean of the loss begins anew."""
        self.before, self.mean = 0, 0.0

    def on_train_batch_begin(self, batch, logs=None):
        """Set the rate of the step."""
        part = min(self.elapsed / self.seconds, 1.0)
        rise, fall = min(part / 0.1 + 0.01, 1.0), math.cos(math.pi / 2 * part)
        self.model.optimizer.learning_rate = self.rate * rise * fall

    def on_train_batch_end(self, batch, logs=None):
        """Note the loss, and end when the time is over."""
        self.steps += 1
        if self.start is None:
            self.start = time.perf_counter()
        if (batch + 1) % EVERY == 0:
            count, mean = batch + 1, float(logs["loss"])
            loss = (count * mean - self.before * self.mean) / (count - self.before)
            self.curve.append((self.elapsed, loss))
            self.before, self.mean = count, mean
        if self.elapsed >= self.seconds:
            self.model.stop_training = True
            if not self.curve:
                self.curve.append((self.elapsed, float(logs["loss"])))


def fit_for(model, *data, seconds, rate, **options):
    """Train for some seconds.

    Args:
        model: a compiled model.
        *data: what `fit` takes; it is gone through again and again.
        seconds: how long.
        rate: the highest learning rate.
        **options: of `fit`.

    Returns:
        The `TimeBudget`, with the number of steps and the curve of the loss.
    """
    budget = TimeBudget(seconds, rate)
    model.fit(*data, epochs=10**6, callbacks=[budget], verbose=0, **options)
    return budget
