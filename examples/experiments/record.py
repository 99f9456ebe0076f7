"""What an experiment leaves behind: a table, its figures, and a plot."""

import argparse
import json
import os
import time
from pathlib import Path

import keras

OUTPUT = Path("experiments")


class Record:
    """Collects the result of one experiment, and writes it into a folder.

    Args:
        name: of the experiment and of its files, without suffix.
        description: first line of what `--help` shows.
    """

    def __init__(self, name, description):
        self.name, self.start = name, time.perf_counter()
        self.parser = argparse.ArgumentParser(description=description)
        self.parser.add_argument(
            "--output", type=Path, default=OUTPUT, help="folder for table and plot"
        )
        self.parser.add_argument(
            "--plots", type=Path, help="folder for the plot, if it is another one"
        )
        self.parser.add_argument(
            "--quick", action="store_true", help="little work, to try the script"
        )

    def options(self):
        """Read the command line."""
        self.given = self.parser.parse_args()
        return self.given

    def write(self, title, header, rows, figure, **details):
        """Print the table, and write it with the plot and the figures.

        Args:
            title: what was measured, one or two sentences.
            header: list of column names.
            rows: lists of strings.
            figure: a matplotlib figure.
            **details: further figures for the JSON file.
        """
        seconds = time.perf_counter() - self.start
        where = f"{_cpu()}, {_cores()} cores, {keras.backend.backend()}, " + (
            f"Keras {keras.__version__}, {time.strftime('%Y-%m-%d')}; "
            f"{seconds / 60:.1f} minutes."
        )
        folder = self.given.output
        folder.mkdir(parents=True, exist_ok=True)
        table = markdown_table(header, rows)
        text = "\n\n".join([title, table, where]) + "\n"
        (folder / f"{self.name}.md").write_text(text, encoding="utf-8")
        details = {"title": title, "header": header, "rows": rows, **details}
        details["where"] = where
        (folder / f"{self.name}.json").write_text(json.dumps(details, indent=1) + "\n")
        plots = self.given.plots or folder
        plots.mkdir(parents=True, exist_ok=True)
        plot = plots / f"{self.name}.svg"
        figure.savefig(plot, metadata={"Date": None})
        print("", text, f"Written: {folder / self.name}.md, .json and {plot}", sep="\n")


def new_figure(columns=1, *, width=4.5, height=3.6):
    """Make a figure of `columns` plots side by side.

    Returns:
        The figure and a list of its axes.
    """
    from matplotlib import pyplot, rcParams

    rcParams.update({"svg.hashsalt": "experiment", "font.size": 9})
    figure, axes = pyplot.subplots(
        1, columns, figsize=(width * columns, height), layout="constrained"
    )
    axes = [axes] if columns == 1 else list(axes)
    for each in axes:
        each.grid(alpha=0.3)
        each.spines[["top", "right"]].set_visible(False)
    return figure, axes


def markdown_table(header, rows):
    """Return a Markdown table of strings."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cores():
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return "unknown CPU"
    names = (line.split(":", 1)[1] for line in lines if line.startswith("model name"))
    return next(names, "unknown CPU").strip()
