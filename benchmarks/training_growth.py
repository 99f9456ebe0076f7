"""How the cost of a training step grows with one quantity, the others kept."""

import math
from dataclasses import asdict, dataclass

from matplotlib import pyplot, rcParams
from matplotlib.ticker import LogFormatter

from benchmarks.report import IMAGES, number, write_report
from benchmarks.side_by_side import Arm, Measured, side_by_side
from benchmarks.training import worker_flags
from benchmarks.training_arms.catalogue import arm
from benchmarks.training_task import QUANTITIES, TrainingTask, training_task

FACTORS = (0.25, 0.5, 1, 2, 4)
HEADER = [
    "step, ms",
    "growth",
    "growth of the arithmetic",
    "tokens/s",
    "peak MB",
    "above import MB",
    "notes",
]


@dataclass
class Point:
    """One value of the quantity.

    Attributes:
        value: the value.
        task: what is trained with it.
        measured: what was found.
    """

    value: int
    task: TrainingTask
    measured: Measured

    @property
    def seconds(self):
        """Seconds of a step, `None` if it failed."""
        seconds = self.measured.median("train")
        return None if seconds is None else seconds / self.task.steps


def run(options):
    """Measure an arm at five values around the size's own; write a table and a plot."""
    usual = training_task(options.size, options.steps)
    own = {**usual.model, **asdict(usual)}[QUANTITIES[options.grow]]
    # A size of few layers has fewer values.
    values = sorted({max(round(own * factor), 1) for factor in FACTORS})
    base = arm(options.arms[0])
    arms = {str(value): value for value in values}
    found = side_by_side(
        [Arm(name, base.packages, base.environment) for name in arms],
        lambda arm: [
            *worker_flags(options),
            *("--arm", base.name, "--grow", options.grow, "--value", arm.name),
        ],
        {"train": 1},
        options.rounds,
        kept=["train"],
    )
    points = [
        Point(
            value,
            training_task(options.size, options.steps, {options.grow: value}),
            found[name],
        )
        for name, value in arms.items()
    ]
    name = f"training_growth_{options.grow}_{options.size}"
    title = (
        f"A training step of `{base.name}` at other values of {options.grow}, all else "
        f"as in size {options.size}. Growth: the exponent p with which the time grew "
        "from the value before, as value^p; of the arithmetic, for comparison. Medians "
        f"of {options.rounds} rounds."
    )
    befores = [None, *points[:-1]]
    rows = [table_row(*pair) for pair in zip(points, befores, strict=True)]
    details = {
        "points": [
            {**asdict(point), "operations_per_step": point.task.operations()}
            for point in points
        ],
    }
    write_report(name, title, [options.grow, *HEADER], rows, details)
    plot(points, options.grow, f"size {options.size}", IMAGES / f"{name}.svg")


def table_row(point, before):
    """Return the cells of a value, compared with the value before."""
    seconds, result = point.seconds, point.measured.results.get("train", {})
    exponents = [None, None]
    if before and seconds and before.seconds:
        distance = math.log(point.value / before.value)
        arithmetic = point.task.operations() / before.task.operations()
        exponents = [
            math.log(seconds / before.seconds) / distance,
            math.log(arithmetic) / distance,
        ]
    return [
        str(point.value),
        number(seconds and seconds * 1000, 1),
        *(number(exponent) for exponent in exponents),
        number(seconds and point.task.tokens / seconds, 0),
        number(result.get("peak"), 0),
        number(result.get("above_import"), 0),
        point.measured.note,
    ]


def plot(points, quantity, size, path):
    """Draw the time of a step, and what the arithmetic alone would let expect."""
    points = [point for point in points if point.seconds]
    if not points:
        return
    middle = points[len(points) // 2]
    values = [point.value for point in points]
    milliseconds = [point.seconds * 1000 for point in points]
    scale = middle.seconds * 1000 / middle.task.operations()
    arithmetic = [scale * point.task.operations() for point in points]
    rcParams["svg.hashsalt"] = quantity  # the same file for the same figures
    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    axes.loglog(values, milliseconds, "o-", label="measured")
    axes.loglog(
        values, arithmetic, "--", color="gray", label="arithmetic, through the middle"
    )
    axes.set_xticks(values, [f"{value:,}" for value in values])
    axes.set_xticks([], minor=True)
    # Plain numbers in place of powers of ten.
    axes.yaxis.set_major_formatter(LogFormatter())
    axes.yaxis.set_minor_formatter(LogFormatter(labelOnlyBase=False))
    axes.set_xlabel(quantity)
    axes.set_ylabel("training step, ms")
    axes.set_title(f"Growth with {quantity}, {size}")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
