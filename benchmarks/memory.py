"""Resident memory while a long stream of sentences is translated."""

import time

from benchmarks.report import shown, write_report
from benchmarks.resident_memory import megabytes, memory_table
from benchmarks.sentences import sentences
from keras_transformer import Translator

PARTS = 10


def run(options):
    """Translate a stream, and note the memory ten times on the way.

    Translations come in windows of a few thousand, so the memory in the middle of one
    shows only in the peak.
    """
    texts = sentences(options.corpus, options.memory)
    translator = Translator.load(options.translator)
    every = max(options.memory // PARTS, 1)
    start = time.perf_counter()
    points = [{"sentences": 0, "seconds": 0.0, **megabytes()}]
    for count, _ in enumerate(translator.translate(iter(texts)), 1):
        if count % every == 0:
            seconds = time.perf_counter() - start
            points.append({"sentences": count, "seconds": seconds, **megabytes()})
    title = (
        f"Resident memory while {options.memory} sentences of {options.corpus} pass "
        f"through {shown(options.translator)}."
    )
    details = {"points": points}
    table = memory_table(points, ["sentences"])
    write_report("decoding_memory", title, *table, details)
