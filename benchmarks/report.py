"""Tables on the terminal and in files."""

import json
import sys
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


def write_report(name, title, header, rows, details, measured_here=True):
    """Print a table, and write it and the details into two files.

    Args:
        name: of the files in `benchmarks/results`, without suffix.
        title: what is measured, one or two sentences.
        header: list of column names.
        rows: lists of strings.
        details: what goes to the JSON file; command line and machine are added.
        measured_here: names the machine below the table; `False` for figures that
            runs on other machines have left.
    """
    where = machine()
    table = Table(*header)
    for row in rows:
        table.add_row(*row)
    console = Console(width=None if Console().is_terminal else 160)
    console.print(title, table, sep="\n")
    RESULTS.mkdir(exist_ok=True)
    command = " ".join(shown(word) for word in sys.argv[1:])
    details = {"title": title, **where, "command": command, **details}
    (RESULTS / f"{name}.json").write_text(json.dumps(details, indent=1) + "\n")
    measured = f"{where['cpu']}, {where['cores']} cores, "
    footer = f"{measured if measured_here else ''}{where['date']}."
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


def shown(argument):
    """Return an argument, or file, without the folders that only its machine has."""
    option, equals, value = str(argument).rpartition("=")
    path = Path(value)
    return f"{option}{equals}{path.name if path.is_absolute() else value}"


def _cpu_model():
    """Name the processor and its widest vectors, by which one name's can differ."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return "unknown CPU"
    pairs = [line.partition(":")[::2] for line in text.splitlines()]
    facts = {key.strip(): value.strip() for key, value in pairs}
    flags = facts.get("flags", "").split()
    vectors = {"avx512f": "AVX-512", "avx2": "AVX2"}
    widest = next((f" ({vectors[key]})" for key in vectors if key in flags), "")
    return facts.get("model name", "unknown CPU") + widest
