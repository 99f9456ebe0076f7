"""How much memory this process holds."""

import re
from pathlib import Path


def megabytes(pid="self"):
    """Return what a process holds, and the most it has held, from /proc."""
    status = Path(f"/proc/{pid}/status").read_text()
    fields = {"resident": "VmRSS", "peak": "VmHWM"}
    return {
        name: int(re.findall(rf"{field}:\s+(\d+) kB", status)[0]) / 1024
        for name, field in fields.items()
    }


def memory_table(points, counts):
    """Return the header and the rows of a table of memory over time.

    Args:
        points: dictionaries with the counts, seconds and the fields of `megabytes`.
        counts: names of what is counted.
    """
    header = [*counts, "seconds", "resident MB", "peak MB"]
    rows = [
        [
            *(str(point[count]) for count in counts),
            *(f"{point[name]:.1f}" for name in ("seconds", "resident", "peak")),
        ]
        for point in points
    ]
    return header, rows
