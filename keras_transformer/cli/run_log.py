"""The curves of a training run, in a file."""

import json
import math
import time

import keras

from keras_transformer.whole_folder import whole_file

LOG = "log.json"


def read_epochs(file):
    """Read the entries of a log, or raise an error that names the file."""
    try:
        epochs = json.loads(file.read_text(encoding="utf-8"))["epochs"]
        return [entry for entry in epochs if entry["step"] >= 0]
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(f"{file} is no log of `train`: {error!r}") from error


def plain(value):
    """Return a number as JSON has it, which knows no infinity."""
    value = round(float(value), 5)
    return value if math.isfinite(value) else None


class RunLog(keras.callbacks.Callback):
    """Write the logs of each epoch into `log.json`.

    An epoch that was interrupted has the mean over the steps after the checkpoint.

    Args:
        folder: the run's folder.
        details: a dictionary of what ran where, written beside the curves.
    """

    def __init__(self, folder, details):
        super().__init__()
        self.file = folder / LOG
        self.details = details
        self.steps = 0  # done when `fit` began
        self.epochs = []
        if self.file.exists():
            self.epochs = read_epochs(self.file)

    def go_on_after(self, steps):
        """Forget what was written of later steps than the checkpoint's."""
        self.steps = steps
        self.epochs = [entry for entry in self.epochs if entry["step"] <= steps]

    def on_epoch_begin(self, epoch, logs=None):
        """Begin to measure the time."""
        self._start = time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        """Count the step."""
        self.steps += 1

    def on_epoch_end(self, epoch, logs=None):
        """Write the logs; the seconds hold the validation."""
        entry = {
            "epoch": epoch + 1,
            "step": self.steps,
            "seconds": round(time.perf_counter() - self._start, 2),
            **{name: plain(value) for name, value in (logs or {}).items()},
        }
        self.epochs.append(entry)
        text = json.dumps({**self.details, "epochs": self.epochs}, indent=1)
        with whole_file(self.file) as file:
            file.write_text(f"{text}\n", encoding="utf-8")
