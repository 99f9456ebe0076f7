"""How busy other processes keep the cores while one is measured."""

import os
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def core_count():
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


class OtherLoad:
    """Measures the share of all cores that is not idle and not a given process.

    Reads /proc, so it knows nothing (a share of 0) where that does not exist.

    Args:
        pid: the process that is measured. Its own load and that of the processes that
            it has started do not count.
    """

    def __init__(self, pid):
        self._pid = pid
        self._start = time.perf_counter()
        self._before = self._busy()

    def share(self):
        """Return the share since construction, from 0 to 1."""
        seconds = time.perf_counter() - self._start
        others = (self._busy() - self._before) / TICKS
        return min(max(others / (seconds * core_count()), 0.0), 1.0)

    def _busy(self):
        """Ticks that all processes but ours have run on our cores."""
        try:
            lines = Path("/proc/stat").read_text().splitlines()
        except OSError:
            return 0
        cores = {f"cpu{number}" for number in os.sched_getaffinity(0)}
        ticks = 0
        for name, *fields in map(str.split, filter(None, lines)):
            if name in cores:
                user, nice, system, _, _, irq, softirq, steal = map(int, fields[:8])
                ticks += user + nice + system + irq + softirq + steal
        return ticks - _family_ticks(self._pid)


def _family_ticks(pid):
    """Ticks of a process and all below it."""
    parents, ticks = {}, {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has ended
        number = int(file.parent.name)
        parents.setdefault(int(fields[1]), []).append(number)
        ticks[number] = sum(map(int, fields[11:15]))  # and of children that ended
    family, total = [pid], 0
    while family:
        number = family.pop()
        family += parents.get(number, [])
        total += ticks.get(number, 0)
    return total
