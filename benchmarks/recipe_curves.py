"""Scores and curves of runs of `examples/train_recipe.py`.

    python -m benchmarks.recipe_curves models/multi30k_tiny-seed*

Each folder is a finished run of the same recipe on this machine. Beside folders a
results file of this program may be named, whose runs are taken over. README.md in this
folder says more.
"""

import argparse
import json
import statistics
from dataclasses import dataclass
from pathlib import Path

from matplotlib import pyplot, rcParams
from matplotlib.ticker import MaxNLocator

from benchmarks.report import IMAGES, machine, number, write_report

HEADER = [
    "run",
    "backend",
    "steps",
    "lowest validation loss",
    "validation BLEU, greedy",
    "test BLEU",
    "test chrF",
    "minutes",
    "CPU",
]


@dataclass
class Run:
    """What a run has written.

    Attributes:
        name: of its folder.
        log: its `log.json`.
    """

    name: str
    log: dict

    @property
    def epochs(self):
        """Logs of all epochs."""
        return self.log["epochs"]

    @property
    def about(self):
        """What runs that are compared have in common."""
        return {
            "name": self.log.get("name"),
            "recipe": self.log["recipe"],
            "test set": self.log["test"]["set"],
            "signature": self.log["test"]["bleu_signature"],
        }

    @property
    def arithmetic(self):
        """Backend, and dtype where it is not float32."""
        dtype = self.log.get("dtype", "float32")
        return " ".join([self.log["backend"], dtype]).removesuffix(" float32")

    @property
    def minutes(self):
        """Time of training and validation, of as many epochs as the median one."""
        seconds = statistics.median(epoch["seconds"] for epoch in self.epochs)
        return seconds * len(self.epochs) / 60

    def values(self, name):
        """Return steps and values of a log, where there are any."""
        found = [epoch for epoch in self.epochs if name in epoch]
        return [epoch["step"] for epoch in found], [epoch[name] for epoch in found]


def main():
    """Write the table, the logs and the plot."""
    parser = argparse.ArgumentParser(description="Curves of training runs.")
    add = parser.add_argument
    add("runs", nargs="+", type=Path, help="folders of finished runs, results files")
    add("--name", help="of the files, by default the recipe's")
    options = parser.parse_args()
    runs = [run for path in options.runs for run in read_runs(path)]
    if len({run.name for run in runs}) < len(runs):
        parser.error("runs must differ in the names of their folders")
    for what in ("recipe", "test set", "signature", "name"):
        if any(run.about[what] != runs[0].about[what] for run in runs):
            parser.error(f"runs must have the same {what}")
    recipe = options.name or runs[0].about["name"]
    if not recipe:
        parser.error("a log of before the recipe's name was written needs --name")
    title = (
        f"Recipe {recipe}, test BLEU {scores_of(runs)}. {runs[0].about['signature']}"
    )
    local = {"command", "data"}  # paths of this machine
    logs = {
        run.name: {key: run.log[key] for key in run.log if key not in local}
        for run in runs
    }
    details = {"runs": logs}
    name = f"recipe_{recipe}"
    rows = [table_row(run) for run in runs]
    write_report(name, title, HEADER, rows, details, measured_here=False)
    plot(runs, recipe, IMAGES / f"{name}.svg")


def read_runs(path):
    """Read the log of a finished run from its folder, or the runs of a results file."""
    if path.is_file():
        report = json.loads(path.read_text())
        return [
            Run(name, {"cpu": report["cpu"], **log})
            for name, log in report["runs"].items()
        ]
    log = json.loads((path / "log.json").read_text())
    if "test" not in log:
        raise SystemExit(f"{path} has no test scores: the run is not finished.")
    return [Run(path.name, {"cpu": machine()["cpu"], **log})]


def scores_of(runs):
    """Return the mean BLEU for each arithmetic, and the deviation of several runs."""
    scores = {}
    for run in runs:
        scores.setdefault(run.arithmetic, []).append(run.log["test"]["bleu"])
    parts = []
    for arithmetic, some in scores.items():
        spread = (
            f", standard deviation {statistics.stdev(some):.2f}" if some[1:] else ""
        )
        parts.append(
            f"{statistics.mean(some):.2f} on {arithmetic} (runs: {len(some)}{spread})"
        )
    return ", ".join(parts)


def table_row(run):
    """Return the cells of a run."""
    bleu = run.values("val_bleu")[1]
    return [
        run.name,
        run.arithmetic,
        str(run.epochs[-1]["step"]),
        number(min(run.values("val_loss")[1]), 3),
        number(max(bleu) if bleu else None),
        number(run.log["test"]["bleu"]),
        number(run.log["test"]["chrf"]),
        number(run.minutes, 0),
        run.log["cpu"],
    ]


def plot(runs, recipe, path):
    """Draw losses on the left and BLEU on the right."""
    rcParams["svg.hashsalt"] = recipe  # the same file for the same figures
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    left, right = axes
    for index, run in enumerate(runs):
        color = f"C{index}"
        left.plot(*run.values("loss"), ":", color=color, label=f"{run.name}, training")
        left.plot(*run.values("val_loss"), color=color, label=f"{run.name}, validation")
        right.plot(*run.values("val_bleu"), "o-", color=color, label=run.name)
    left.set_ylabel("loss")
    right.set_ylabel("validation BLEU of greedy search")
    for side in axes:
        side.set_xlabel("step")
        side.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        side.grid(alpha=0.3)
        side.legend(fontsize="small")
    figure.suptitle(f"Training with {recipe}")
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


if __name__ == "__main__":
    main()
