"""Speed of decoding beside other libraries, from random ids or from text.

    python -m benchmarks.decoding --rounds 5

README.md in this folder says what is measured, and lists the other commands.
"""

import argparse
from pathlib import Path

import numpy as np

from benchmarks.decoding_arms.catalogue import ENTRIES, arm
from benchmarks.decoding_task import ROWS, SIZES, TOKENS, DecodingTask
from benchmarks.report import number, write_report
from benchmarks.side_by_side import side_by_side
from benchmarks.worker import serve

# Calls in one round: a single sentence is too short for one.
MEASUREMENTS = {"greedy": 1, "beam4": 1, "latency": 20}
HEADER = [
    "arm",
    "greedy sentences/s",
    "ours/arm",
    "beam 4 sentences/s",
    "ours/arm",
    "one sentence, ms",
    "ours/arm",
    "equal ids",
    "versions, notes",
]


def main():
    """Read the command line and measure what it asks for."""
    options = parse_options()
    if options.text or options.text_arm:
        from benchmarks import decoding_text

        decoding_text.run(options)
    elif options.first_call:
        from benchmarks import first_call

        first_call.run(options)
    elif options.memory:
        from benchmarks import memory

        memory.run(options)
    elif options.arm:
        task = DecodingTask(options.size, options.batches)
        serve(lambda: start_arm(options.arm, task))
    else:
        compare(options)


def parse_options():
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Speed of decoding.")
    parser.add_argument("--arms", default=",".join(ENTRIES), help="names with commas")
    parser.add_argument("--size", choices=list(SIZES), default="S")
    parser.add_argument("--batches", type=int, default=4, help="given at once")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--text", type=int, help="number of sentences to translate")
    parser.add_argument("--first-call", action="store_true", help="compile times")
    parser.add_argument("--memory", type=int, help="number of sentences to stream")
    parser.add_argument("--translator", type=Path, help="file of a saved translator")
    parser.add_argument("--corpus", choices=["tatoeba", "toy"], default="tatoeba")
    parser.add_argument("--arm", choices=list(ENTRIES), help=argparse.SUPPRESS)
    parser.add_argument("--text-arm", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.arms = options.arms.split(",")
    needs_file = options.text or options.first_call or options.memory
    if unknown := set(options.arms) - set(ENTRIES):
        parser.error(f"unknown arms: {', '.join(sorted(unknown))}")
    if needs_file and not (options.translator and options.translator.is_file()):
        parser.error("give --translator FILE, as examples/translate.py saves it")
    return options


def start_arm(name, task):
    """Make a decoder, and the measurements of it."""
    decoder = ENTRIES[name].decoder(task)
    batches = list(task.sources())
    single = [batches[0][:1]]
    measurements = {
        "greedy": lambda: decoder(batches, 1)[0],
        "beam4": lambda: decoder(batches, 4)[0],
        "latency": lambda: decoder(single, 1)[0],
    }
    return measurements, getattr(decoder, "about", {})


def compare(options):
    """Measure all arms, and write the table."""
    flags = ["--size", options.size, "--batches", str(options.batches)]
    found = side_by_side(
        [arm(name) for name in options.arms],
        lambda own: ["-m", "benchmarks.decoding", "--arm", own.name, *flags],
        MEASUREMENTS,
        options.rounds,
        kept=["greedy", "beam4"],
    )
    sentences = options.batches * ROWS
    rows = [table_row(name, found, sentences) for name in found]
    title = (
        f"Decoding, size {options.size}: {options.batches} batches of {ROWS} sources "
        f"of {TOKENS} tokens given at once, {TOKENS} tokens generated. Medians of "
        f"{options.rounds} rounds; ours/arm is the ratio of speeds, above 1 where "
        "`ours` is faster. Equal ids: share of greedy rows, and of beam rows."
    )
    arms = {
        name: {
            "seconds": own.seconds,
            "versions": own.versions,
            "about": own.about,
            "disturbed": own.disturbed,
            "note": own.note,
            "equal_ids": equal_ids(name, found),
        }
        for name, own in found.items()
    }
    details = {
        "size": {"name": options.size, **SIZES[options.size]},
        "sentences": sentences,
        "arms": arms,
    }
    write_report("decoding", title, HEADER, rows, details)


def table_row(name, found, sentences):
    """Return an arm's cells."""
    own, ours = found[name], found.get("ours")
    cells = [name]
    for measurement in MEASUREMENTS:
        seconds = own.median(measurement)
        if seconds is None:
            cells.append("-")
        elif measurement == "latency":
            cells.append(number(seconds * 1000, 1))
        else:
            cells.append(number(sentences / seconds, 0))
        cells.append(number(ours and own.ratio_to(ours, measurement)))
    shares = [number(share) for share in equal_ids(name, found).values()]
    versions = " ".join(f"{key} {value}" for key, value in own.versions.items())
    about = ", ".join(f"{key} {value}" for key, value in own.about.items())
    disturbed = f"{own.disturbed} disturbed" if own.disturbed else ""
    notes = [own.note, versions if own.seconds else "", about, disturbed]
    return [*cells, ", ".join(shares), "; ".join(filter(None, notes))]


def equal_ids(name, found):
    """Return the share of rows with the ids of `ours`, by measurement."""
    shares = {}
    for measurement in ("greedy", "beam4"):
        ours = found["ours"].results.get(measurement) if "ours" in found else None
        own = found[name].results.get(measurement)
        comparable = ENTRIES[name].same_weights and ours and own
        shares[measurement] = (
            float(np.mean(np.all(np.array(ours) == np.array(own), axis=1)))
            if comparable
            else None
        )
    return shares


if __name__ == "__main__":
    main()
