"""Lines through `keras-transformer translate`, beside a loop that takes one by one."""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.report import number, shown, write_report
from benchmarks.resident_memory import megabytes
from benchmarks.sentences import sentences
from keras_transformer import Translator

HEADER = ["lines", "seconds", "peak MB", "ms for each further line"]
LOOP = 300  # lines of the loop, after as many to warm up


def main():
    """Measure and report."""
    options = parse_options()
    texts = sentences(options.corpus, options.lines)
    counts = [options.lines // 5, options.lines]
    runs = [command(options.translator, texts[:count]) for count in counts]
    translator = Translator.load(options.translator)
    # A model can generate ends of lines, which the command writes as spaces.
    equal = [text.replace("\r", " ").replace("\n", " ") for text in translator(texts)]
    if runs[-1]["translations"] != equal:
        sys.exit("The command's lines are not those of the Python call.")
    loop = milliseconds_one_by_one(translator, texts)
    further = 1000 * (runs[1]["seconds"] - runs[0]["seconds"]) / (counts[1] - counts[0])
    title = (
        f"`keras-transformer translate` with {shown(options.translator)}, lines of "
        f"{options.corpus}: all {counts[1]} lines come out, in order, equal to the "
        f"Python call's. A loop that translates one by one takes {loop:.1f} ms a line, "
        f"{loop / further:.1f} times as long as a further line takes here."
    )
    rows = [
        [
            str(count),
            number(run["seconds"], 1),
            number(run["peak"], 0),
            number(further if run is runs[-1] else None),
        ]
        for count, run in zip(counts, runs, strict=True)
    ]
    details = {
        "loop_milliseconds": loop,
        "further_milliseconds": further,
        "runs": [
            {"lines": count, "seconds": run["seconds"], "peak": run["peak"]}
            for count, run in zip(counts, runs, strict=True)
        ],
    }
    write_report("command_line", title, HEADER, rows, details)


def command(translator, texts):
    """Translate a file by the command; return lines, seconds and peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        given, result = Path(folder, "given.txt"), Path(folder, "result.txt")
        given.write_bytes("".join(f"{text}\n" for text in texts).encode())
        arguments = ["translate", translator, given, "-o", result]
        start, peak = time.perf_counter(), 0.0
        process = subprocess.Popen(
            [sys.executable, "-m", "keras_transformer.cli", *map(str, arguments)]
        )
        while process.poll() is None:
            try:
                peak = megabytes(process.pid)["peak"]
            except (OSError, IndexError):  # it has just ended
                break
            time.sleep(0.05)
        if process.wait() != 0:
            sys.exit("The command failed.")
        seconds = time.perf_counter() - start
        lines = result.read_bytes().decode().split("\n")[:-1]
    return {"translations": lines, "seconds": seconds, "peak": peak}


def milliseconds_one_by_one(translator, texts):
    """Return the time of a line in a loop, compiled functions ready."""
    for text in texts[:LOOP]:
        translator(text)
    start = time.perf_counter()
    for text in texts[:LOOP]:
        translator(text)
    return 1000 * (time.perf_counter() - start) / len(texts[:LOOP])


def parse_options():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--translator", type=Path, required=True, help="saved file")
    parser.add_argument("--lines", type=int, default=10_000)
    parser.add_argument("--corpus", choices=["tatoeba", "toy"], default="tatoeba")
    return parser.parse_args()


if __name__ == "__main__":
    main()
