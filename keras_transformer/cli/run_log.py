"""The curves of a training run, in a file."""

import json
import time

import keras

from keras_transformer.whole_folder import whole_file

LOG = "log.json"


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
            text = self.file.read_text(encoding="utf-8")
            self.epochs = json.loads(text)["epochs"]

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
            **{name: round(float(value), 5) for name, value in (logs or {}).items()},
        }
        self.epochs.append(entry)
        text = json.dumps({**self.details, "epochs": self.epochs}, indent=1)
        with whole_file(self.file) as file:
            file.write_text(f"{text}\n", encoding="utf-8")
