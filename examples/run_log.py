"""The log of a training run, and its end when nothing improves any more."""

import json
import sys
import time
from dataclasses import asdict

import keras


class CurveLog(keras.callbacks.Callback):
    """Write settings, and the logs of each epoch, into `log.json`.

    Set `every`, the steps of an epoch of `fit`, before training.

    Args:
        options: the command line.
        recipe: the `Recipe`.
    """

    def __init__(self, options, recipe):
        super().__init__()
        options.output.mkdir(parents=True, exist_ok=True)
        self.file, self.epochs = options.output / "log.json", []
        self.settings = {
            "name": options.recipe,
            "recipe": asdict(recipe),
            "data": str(options.data.resolve()),
            "source": options.source,
            "target": options.target,
            "seed": options.seed,
            "backend": keras.backend.backend(),
            "dtype": keras.config.dtype_policy().name,
        }
        if self.file.exists():
            log = json.loads(self.file.read_text())
            self.epochs = log["epochs"]
            self.check_same(log)
        self.settings["command"] = " ".join(sys.argv[1:])

    def check_same(self, before):
        """End the program if the folder has a run with other settings."""
        for name, value in self.settings.items():
            if name in before and before[name] != value:
                sys.exit(
                    f"{self.file.parent} has a run with another `{name}`: give this "
                    f"one an `--output` of its own. Received: {value}, before: "
                    f"{before[name]}"
                )

    def on_train_begin(self, logs=None):
        """Refuse epochs of another length than before."""
        before = self.epochs[0]["step"] if self.epochs else self.every
        if before != self.every:
            sys.exit(
                f"{self.file.parent} has a run that takes weights for the average "
                f"every {before} steps. Received: {self.every} (`--steps`)"
            )

    def on_epoch_begin(self, epoch, logs=None):
        """Forget what an interrupted run wrote of this epoch."""
        self.epochs = self.epochs[:epoch]
        self.start = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        """Write the logs; the seconds hold validation and its translations."""
        seconds = round(time.perf_counter() - self.start, 2)
        place = {"step": (epoch + 1) * self.every, "seconds": seconds}
        values = {name: round(float(value), 5) for name, value in (logs or {}).items()}
        self.epochs.append({**place, **values})
        self.write()

    def write(self, **more):
        """Write the file anew, as a whole."""
        log = {**self.settings, "epochs": self.epochs, **more}
        unfinished = self.file.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(log, indent=1) + "\n")
        unfinished.replace(self.file)


class StopWithoutGain(keras.callbacks.Callback):
    """End training when the validation loss has not fallen for some epochs.

    Unlike `keras.callbacks.EarlyStopping` it knows what was before an interruption.

    Args:
        log: the `CurveLog`, which comes before it.
        patience: number of epochs, or `None` to do nothing.
    """

    def __init__(self, log, patience):
        super().__init__()
        self.log, self.patience = log, patience

    def on_epoch_end(self, epoch, logs=None):
        """End training if it is time."""
        if self.is_time():
            self.model.stop_training = True

    def is_time(self):
        """Whether the lowest loss was too long ago."""
        losses = [logs["val_loss"] for logs in self.log.epochs if "val_loss" in logs]
        if not self.patience or not losses:
            return False
        return len(losses) - 1 - losses.index(min(losses)) >= self.patience
