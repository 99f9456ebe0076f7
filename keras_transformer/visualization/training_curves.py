"""What a training run logged, as curves."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PLACES = ("step", "epoch")  # what a curve can be drawn over
NO_CURVES = (*PLACES, "seconds")
FORMS = (
    "a Keras `History`, its dictionary of lists, a list of a dictionary for each "
    "epoch, or a JSON file with such `epochs`"
)


@dataclass(frozen=True)
class Curve:
    """Values of one quantity.

    Attributes:
        name: as logged, `val_loss` for example.
        places: where each value belongs on the horizontal axis.
        values: the values.
        axis: what the horizontal axis counts.
    """

    name: str
    places: Sequence[float]
    values: Sequence[float]
    axis: str

    @property
    def quantity(self):
        """What is measured, on whatever data: `loss` of `val_loss`."""
        return self.name.removeprefix("val_")


def training_curves(history):
    """Read curves.

    Args:
        history: see `plot_training`.

    Returns:
        List of `Curve`, in the order of the log.

    Raises:
        ValueError: for what is no history, or an empty one.
    """
    epoch = getattr(history, "epoch", None)
    found = getattr(history, "history", history)
    if isinstance(found, (str, Path)):
        found = json.loads(Path(found).read_text(encoding="utf-8"))
    if isinstance(found, Mapping) and "epochs" in found:
        found = found["epochs"]
    if isinstance(found, Mapping):
        curves = _of_lists(found, epoch)
    elif isinstance(found, (list, tuple)) and all(
        isinstance(logs, Mapping) for logs in found
    ):
        curves = _of_epochs(found)
    else:
        raise ValueError(f"`history` must be {FORMS}. Received: {history!r}.")
    if not curves:
        raise ValueError(f"`history` must have an epoch at least. Received: {found!r}.")
    return curves


def _of_lists(lists, epoch):
    """Return the curves of Keras's `History`, whose lists may be of different lengths.

    A shorter list doesn't say which epochs it is from, so that it is counted by itself.
    """
    for name, values in lists.items():
        if not isinstance(values, (list, tuple)):
            raise ValueError(
                f"`history` must be {FORMS}. Received: {values!r} for {name!r}."
            )
    longest = max(map(len, lists.values()), default=0)
    epochs = epoch if epoch and len(epoch) == longest else range(longest)
    places = {longest: ([number + 1 for number in epochs], "epoch")}
    curves = []
    for name, values in lists.items():
        count = len(values)
        counted = list(range(1, count + 1)), f"measurement, {count} in {longest} epochs"
        at, axis = places.get(count, counted)
        if values and name not in NO_CURVES:
            curves.append(Curve(name, at, list(map(_number, values)), axis))
    return curves


def _number(value):
    return math.nan if value is None else float(value)  # JSON has no NaN


def _of_epochs(epochs):
    names = dict.fromkeys(name for logs in epochs for name in logs)
    axis = next((name for name in PLACES if all(name in logs for logs in epochs)), None)
    curves = []
    for name in names:
        if name in NO_CURVES:
            continue
        found = [(i, logs) for i, logs in enumerate(epochs, 1) if name in logs]
        places = [logs[axis] if axis else i for i, logs in found]
        values = [_number(logs[name]) for _, logs in found]
        curves.append(Curve(name, places, values, axis or "epoch"))
    return curves
