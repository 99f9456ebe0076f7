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
