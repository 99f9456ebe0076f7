"""Tables on the terminal and in files."""

import json
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.quiet import core_count

IMAGES = Path(__file__).parents[1] / "docs" / "images"
RESULTS = Path(__file__).parent / "results"


def machine():
    """Return what a reader needs to know of the machine and the day."""
    return {
        "cpu": _cpu_model(),
        "cores": core_count(),
        "date": time.strftime("%Y-%m-%d"),
    }


def write_report(name, title, header, rows, details):
    """Print a table, and write it and the details into two files.

    Args:
        name: of the files in `benchmarks/results`, without suffix.
        title: what is measured, one or two sentences.
        header: list of column names.
        rows: lists of strings.
        details: what goes to the JSON file; the machine is added.
    """
    where = machine()
    table = Table(*header)
    for row in rows:
        table.add_row(*row)
    console = Console(width=None if Console().is_terminal else 160)
    console.print(title, table, sep="\n")
    RESULTS.mkdir(exist_ok=True)
    details = {"title": title, **where, **details}
    (RESULTS / f"{name}.json").write_text(json.dumps(details, indent=1) + "\n")
    footer = f"{where['cpu']}, {where['cores']} cores, {where['date']}."
    text = "\n\n".join([title, markdown_table(header, rows), footer])
    (RESULTS / f"{name}.md").write_text(text + "\n")
    print(footer)


def markdown_table(header, rows):
    """Return a Markdown table of strings."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"
        for line in lines
    )


def number(value, digits=2, suffix=""):
    """Return a number as text, or a dash for `None`."""
    return "-" if value is None else f"{value:.{digits}f}{suffix}"


def _cpu_model():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return "unknown CPU"
    names = (line.split(":", 1)[1] for line in lines if line.startswith("model name"))
    return next(names, "unknown CPU").strip()
