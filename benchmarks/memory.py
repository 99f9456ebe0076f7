"""Resident memory while a long stream of sentences is translated."""

import re
import sys
import time
from pathlib import Path

from benchmarks.report import number, write_report
from benchmarks.sentences import sentences
from keras_transformer import Translator

PARTS = 10


def run(options):
    """Translate a stream, and note the memory ten times on the way."""
    texts = sentences(options.corpus, options.memory)
    translator = Translator.load(options.translator)
    every = max(options.memory // PARTS, 1)
    start = time.perf_counter()
    points = [{"sentences": 0, "megabytes": resident_megabytes(), "seconds": 0.0}]
    for count, _ in enumerate(translator.translate(iter(texts)), 1):
        if count % every == 0:
            seconds = time.perf_counter() - start
            megabytes = resident_megabytes()
            points.append(
                {"sentences": count, "megabytes": megabytes, "seconds": seconds}
            )
    rows = [
        [
            str(point["sentences"]),
            number(point["megabytes"], 0),
            number(point["seconds"], 1),
        ]
        for point in points
    ]
    title = (
        f"Resident memory while {options.memory} sentences of {options.corpus} pass "
        f"through {options.translator.name}."
    )
    details = {"command": " ".join(sys.argv[1:]), "points": points}
    header = ["sentences", "MB", "seconds"]
    write_report("decoding_memory", title, header, rows, details)


def resident_megabytes():
    """Return the memory that this process holds, from /proc."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1024
