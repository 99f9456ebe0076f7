"""Speed and memory of training beside other libraries, on random ids.

    python -m benchmarks.training --size T --rounds 5

README.md in this folder says what is measured, and lists the other commands.
"""

import argparse
import math
from dataclasses import asdict

from benchmarks.report import number, write_report
from benchmarks.resident_memory import megabytes
from benchmarks.training_arms.catalogue import ENTRIES, PEAK
from benchmarks.training_groups import measure_in_groups, operations
from benchmarks.training_task import MODELS, QUANTITIES, training_task
from benchmarks.worker import serve

# Processes that hold their memory at the same time, beside `ours` and the peak's.
TOGETHER = {"tiny": 20, "T": 5, "S": 4, "B": 2}
HEADER = [
    "arm",
    "tokens/s",
    "ours/arm",
    "GFLOP/s",
    "of the peak",
    "peak MB",
    "above import MB",
    "loss",
    "versions, notes",
]


def main():
    """Read the command line and measure what it asks for."""
    options = parse_options()
    if options.arm:
        changes = {options.grow: options.value} if options.grow else {}
        task = training_task(options.size, options.steps, changes)
        serve(lambda: start_arm(options.arm, task))
    elif options.grow:
        from benchmarks import training_growth

        training_growth.run(options)
    elif options.bare:
        compare(options, ["ours", "ours-bare"], f"training_bare_{options.size}")
    else:
        compare(options, options.arms, options.name or f"training_{options.size}")


def parse_options():
    """Read the command line."""
    usual = [name for name, entry in ENTRIES.items() if not entry.extra]
    parser = argparse.ArgumentParser(description="Speed of training.")
    parser.add_argument("--arms", help="names with commas; by default the usual ones")
    parser.add_argument("--size", choices=list(MODELS), default="T")
    parser.add_argument("--steps", type=int, help="batches of one measurement")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--together", type=int, help="arms in memory beside `ours`")
    parser.add_argument(
        "--grow",
        choices=list(QUANTITIES),
        help="cost of `ours`, or of the one arm named",
    )
    parser.add_argument("--name", help="of the results, by default training_<size>")
    parser.add_argument("--bare", action="store_true", help="`ours` without `fit`")
    parser.add_argument("--arm", choices=list(ENTRIES), help=argparse.SUPPRESS)
    parser.add_argument("--value", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare and (options.arms or options.grow):
        parser.error("--bare goes with neither --arms nor --grow")
    if options.name and (options.bare or options.grow):
        parser.error("--name goes with neither --bare nor --grow")
    if options.grow:
        options.arms = options.arms or "ours"
    options.arms = options.arms.split(",") if options.arms else usual
    options.together = options.together or TOGETHER[options.size]
    if unknown := set(options.arms) - set(ENTRIES):
        parser.error(f"unknown arms: {', '.join(sorted(unknown))}")
    if options.grow and len(options.arms) > 1:
        parser.error(f"--grow measures one of --arms. Received: {len(options.arms)}")
    return options


def start_arm(name, task):
    """Make a trainer, and the measurement of it."""
    make = ENTRIES[name].load()
    imported = megabytes()["resident"]
    trainer = make(task)

    def train():
        loss = trainer()
        if loss is not None and not math.isfinite(loss):
            raise ValueError(f"the loss is {loss}")
        peak = megabytes()["peak"]
        return {"loss": loss, "peak": peak, "above_import": peak - imported}

    return {"train": train}, getattr(trainer, "about", {})


def worker_flags(options):
    """Return the arguments that give a worker the same task."""
    steps = ["--steps", str(options.steps)] if options.steps else []
    return ["-m", "benchmarks.training", "--size", options.size, *steps]


def compare(options, names, report):
    """Measure arms, and write the table."""
    task = training_task(options.size, options.steps)
    found = measure_in_groups(
        names,
        lambda arm: [*worker_flags(options), "--arm", arm.name],
        task,
        options.rounds,
        options.together,
    )
    rows = [table_row(name, own, task) for name, own in found.items()]
    title = (
        f"Training, size {options.size}: batches of {task.rows} x ({task.length}, "
        f"{task.length}) random tokens, {task.steps} steps in a measurement, float32 "
        "if not said otherwise, Adam, dropout 0.1 of scores too, no label smoothing. "
        f"Medians of {options.rounds} rounds; ours/arm is the ratio of speeds, above "
        f"1 where `ours` is faster; of the peak: the arm's speed in matrix products "
        f"as a share of {PEAK}'s."
    )
    details = {
        "task": asdict(task),
        "operations_per_step": task.operations(),
        "arms": {name: asdict(own) for name, own in found.items()},
    }
    write_report(report, title, HEADER, rows, details)


def table_row(name, own, task):
    """Return an arm's cells."""
    measured, seconds = own.measured, own.measured.median("train")
    result = measured.results.get("train", {})
    speeds = [None, None]
    if seconds is not None:
        tokens = None if name == PEAK else task.tokens * task.steps / seconds
        speeds = [tokens, operations(name, task) / seconds / 1e9]
    versions = " ".join(f"{key} {value}" for key, value in measured.versions.items())
    about = ", ".join(f"{key} {value}" for key, value in measured.about.items())
    disturbed = f"{measured.disturbed} disturbed" if measured.disturbed else ""
    notes = [measured.note, versions if measured.seconds else "", about, disturbed]
    return [
        name,
        number(speeds[0], 0),
        number(own.ours_by_arm),
        number(speeds[1], 0),
        number(own.share_of_peak),
        number(result.get("peak"), 0),
        number(result.get("above_import"), 0),
        number(result.get("loss")),
        "; ".join(filter(None, notes)),
    ]


if __name__ == "__main__":
    main()
