"""Memory and speed of `TranslationData` on very many pairs.

    python -m benchmarks.streaming --pairs 1000000

Generated sentences are tokenized once, and an epoch is read in ten parts. What grows
from part to part would grow without end in training.
"""

import argparse
import random
import time

from benchmarks.report import number, write_report
from benchmarks.resident_memory import megabytes, memory_table
from keras_transformer import TranslationData, train_tokenizer

PARTS = 10
SYLLABLES = [a + b for a in "bdfgklmnprstv" for b in "aeiou"]
WORDS = 4000
LENGTHS = range(3, 40)  # words of a sentence


def main():
    """Make the data, read an epoch, and report."""
    options = parse_options()
    before = megabytes()
    start = time.perf_counter()
    tokenizer = train_tokenizer(pairs(5000), vocabulary_size=8000)
    data = TranslationData(
        pairs(options.pairs), tokenizer, tokens_per_batch=options.tokens_per_batch
    )
    seconds = time.perf_counter() - start
    points = [{"part": "begin", "pairs": 0, "seconds": 0.0, **megabytes()}]
    points += epoch(data)
    read = points[-1]
    details = {
        "pairs": options.pairs,
        "batches": len(data.train),
        "padding_share": data.padding_share,
        "resident_before": before["resident"],
        "construction_seconds": seconds,
        "growth": read["resident"] - points[1]["resident"],
        "pairs_per_second": read["pairs"] / read["seconds"],
        "points": points,
    }
    title = (
        f"{options.pairs:,} pairs: {number(before['resident'], 0)} MB before, made in "
        f"{number(seconds, 1)} s, then {number(details['pairs_per_second'], 0)} pairs "
        f"a second; {number(details['growth'], 1)} MB more after the last part of the "
        "epoch than after its first."
    )
    table = memory_table(points, ["part", "pairs"])
    write_report(f"streaming_{options.pairs}", title, *table, details)


def epoch(data):
    """Read one epoch, and note the memory ten times on the way."""
    batches = len(data.train)
    ends = {max(batches * part // PARTS, 1): part for part in range(1, PARTS + 1)}
    points, given = [], 0
    start = time.perf_counter()
    for count, (_, labels) in enumerate(data.train, 1):
        given += int((labels.numpy()[:, 0] != 0).sum())
        if count in ends:
            place = {"part": ends[count], "pairs": given}
            seconds = time.perf_counter() - start
            points.append({**place, "seconds": seconds, **megabytes()})
    return points


def pairs(count):
    """Generate sentence pairs, one after the other."""
    generator = random.Random(count)
    words = ["".join(generator.choices(SYLLABLES, k=3)) for _ in range(WORDS)]
    for index in range(count):
        length = generator.choice(LENGTHS)
        source = " ".join(generator.choices(words, k=length))
        target = " ".join(generator.choices(words, k=max(length - index % 3, 1)))
        yield source, target


def parse_options():
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description="Memory and speed of `TranslationData`."
    )
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--tokens-per-batch", type=int, default=4096)
    return parser.parse_args()


if __name__ == "__main__":
    main()
