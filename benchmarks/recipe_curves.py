"""Scores and curves of runs of `examples/train_recipe.py`.

    python -m benchmarks.recipe_curves models/multi30k_tiny-seed*

Each folder is a finished run of the same recipe. README.md in this folder says more.
"""

import argparse
import json
import statistics
from dataclasses import dataclass
from pathlib import Path

from matplotlib import pyplot, rcParams
from matplotlib.ticker import MaxNLocator

from benchmarks.report import IMAGES, number, write_report

HEADER = [
    "run",
    "backend",
    "steps",
    "lowest validation loss",
    "validation BLEU, greedy",
    "test BLEU",
    "test chrF",
    "minutes",
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
    parser.add_argument("folders", nargs="+", type=Path, help="of finished runs")
    parser.add_argument("--name", default="multi30k_tiny", help="of the files")
    options = parser.parse_args()
    runs = [read_run(folder) for folder in options.folders]
    scores = [run.log["test"]["bleu"] for run in runs]
    title = (
        f"Recipe {options.name}, runs: {len(runs)}, test BLEU "
        f"{number_and_spread(scores)}. {runs[0].log['test']['bleu_signature']}"
    )
    local = {"command", "data"}  # paths of this machine
    logs = {
        run.name: {key: run.log[key] for key in run.log if key not in local}
        for run in runs
    }
    details = {"runs": logs}
    name = f"recipe_{options.name}"
    write_report(name, title, HEADER, [table_row(run) for run in runs], details)
    plot(runs, options.name, IMAGES / f"{name}.svg")


def read_run(folder):
    """Read the log of a finished run."""
    log = json.loads((folder / "log.json").read_text())
    if "test" not in log:
        raise SystemExit(f"{folder} has no test scores: the run is not finished.")
    return Run(folder.name, log)


def number_and_spread(scores):
    """Return the mean, with the standard deviation of several scores."""
    mean = f"{statistics.mean(scores):.2f}"
    if len(scores) == 1:
        return mean
    return f"{mean} (standard deviation {statistics.stdev(scores):.2f})"


def table_row(run):
    """Return the cells of a run."""
    bleu = run.values("val_bleu")[1]
    return [
        run.name,
        run.log["backend"],
        str(run.epochs[-1]["step"]),
        number(min(run.values("val_loss")[1]), 3),
        number(max(bleu) if bleu else None),
        number(run.log["test"]["bleu"]),
        number(run.log["test"]["chrf"]),
        number(run.minutes, 0),
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
    left.set_ylabel("loss for a token")
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
