"""Arms of the training benchmark, few at a time, since each holds much memory."""

from dataclasses import dataclass

from benchmarks.side_by_side import Measured, side_by_side
from benchmarks.training_arms.catalogue import PEAK, arm
from benchmarks.training_arms.matrix_product import MatrixProducts

REFERENCES = (PEAK, "ours")


@dataclass
class Compared:
    """An arm beside what it was measured in turn with.

    Attributes:
        measured: what was found of it.
        ours_by_arm: ratio of speeds, `None` if there is none.
        share_of_peak: ratio of operations per second.
    """

    measured: Measured
    ours_by_arm: float | None
    share_of_peak: float | None


def measure_in_groups(names, command, task, rounds, together):
    """Measure arms, group by group, with the references again in each group.

    Args:
        names: of the arms. The matrix product is measured in any case.
        command: see `side_by_side`.
        task: the `TrainingTask`.
        rounds: number of rounds.
        together: number of arms in a group, without the references.

    Returns:
        A `Compared` for each arm by name; the references' are those of the first group.
    """
    references = [name for name in REFERENCES if name == PEAK or name in names]
    rest = [name for name in names if name not in REFERENCES]
    starts = range(0, max(len(rest), 1), together)
    compared = {}
    for group in (rest[start : start + together] for start in starts):
        arms = [arm(name) for name in (*references, *group)]
        found = side_by_side(arms, command, {"train": 1}, rounds, kept=["train"])
        for name in found:
            compared.setdefault(name, _compare(name, found, task))
    return compared


def _compare(name, found, task):
    own, ours, peak = found[name], found.get("ours"), found[PEAK]
    share = peak.ratio_to(own, "train")
    if share is not None:
        share *= operations(name, task) / operations(PEAK, task)
    ratio = None if ours is None or name == PEAK else own.ratio_to(ours, "train")
    return Compared(own, ratio, share)


def operations(name, task):
    """Return the floating-point operations of one measurement of an arm."""
    if name == PEAK:
        return MatrixProducts.operations
    return task.operations() * task.steps
