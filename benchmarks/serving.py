"""Speed of an exported translator behind a server, and beside other ways to translate.

    python examples/translate.py        # saves models/es/model.translator
    python -m benchmarks.serving --translator models/es/model.translator

README.md in this folder says what is measured.
"""

import argparse
from pathlib import Path

import numpy as np

from benchmarks.decoding_arms.catalogue import TENSORFLOW
from benchmarks.report import number, shown, write_report
from benchmarks.side_by_side import Arm, side_by_side
from benchmarks.worker import serve

SERVING = ("tensorflow", "tensorflow-text", "tensorflow-serving-api")
PEER = ("ctranslate2", "sentencepiece")
ARMS = {
    "grpc": Arm("grpc", SERVING, TENSORFLOW),
    "rest": Arm("rest", SERVING, TENSORFLOW),
    "python": Arm("python", ("keras", "tensorflow"), TENSORFLOW),
    "ctranslate2": Arm("ctranslate2", PEER, TENSORFLOW),
    "ctranslate2-int8": Arm("ctranslate2-int8", PEER, TENSORFLOW),
}
# Threads, requests of each, sentences of a request.
LOADS = {"alone": (1, 100, 1), "one": (8, 200, 1), "many": (8, 10, 32)}
HEADER = [
    "arm",
    *(
        f"{what}{load}"
        for load in ("1 x 1", "8 x 1", "8 x 32")
        for what in ("sentences/s, ", "ratio, ", "p50 and p99 ms, ")
    ),
    "equal text",
    "notes",
]


def main():
    """Read the command line, and compare, watch the memory, or be an arm."""
    options = parse_options()
    if options.arm:
        serve(lambda: start_arm(options))
    elif options.memory:
        from benchmarks import serving_memory

        serving_memory.run(options)
    else:
        compare(options)


def parse_options():
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Speed of serving.")
    add = parser.add_argument
    add("--translator", type=Path, required=True, help="file of a saved translator")
    add("--lines", type=Path, help="file of sentences, instead of the corpus")
    add("--corpus", choices=["tatoeba", "toy"], default="tatoeba")
    add("--arms", default=",".join(ARMS), help="names with commas")
    add("--rounds", type=int, default=3)
    add("--memory", type=int, help="number of requests after which to end")
    add("--arm", choices=list(ARMS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.arms = options.arms.split(",")
    if unknown := set(options.arms) - set(ARMS):
        parser.error(f"unknown arms: {', '.join(sorted(unknown))}")
    return options


def sentences_of(options, count=1000):
    """Return sentences of the file or the corpus."""
    from benchmarks.sentences import sentences

    if options.lines is None:
        return sentences(options.corpus, count)
    return options.lines.read_text(encoding="utf-8").splitlines()[:count]


def start_arm(options):
    """Make an arm, and its measurements."""
    from benchmarks.ctranslate2_text import text_translator
    from benchmarks.model_server import ModelServer
    from benchmarks.request_load import RequestLoad
    from keras_transformer import GreedySearch, Translator

    translator = Translator.load(options.translator)
    translator.search = GreedySearch()
    if options.arm in ("grpc", "rest"):
        answer = getattr(ModelServer(translator), options.arm)()
    elif options.arm == "python":
        answer = translator
    else:
        kind = "int8" if options.arm.endswith("int8") else "float32"
        answer = text_translator(translator, kind)
    sentences = sentences_of(options)
    loads = {
        name: RequestLoad(answer, sentences, *load) for name, load in LOADS.items()
    }
    return loads, {}


def compare(options):
    """Measure all arms, and write the table."""
    flags = ["--translator", str(options.translator), "--corpus", options.corpus]
    flags += ["--lines", str(options.lines)] if options.lines else []
    found = side_by_side(
        [ARMS[name] for name in options.arms],
        lambda arm: ["-m", "benchmarks.serving", "--arm", arm.name, *flags],
        dict.fromkeys(LOADS, 1),
        options.rounds,
        longest=600.0,
        kept=list(LOADS),
    )
    text = options.lines.name if options.lines else options.corpus
    title = (
        f"Greedy translation of sentences of {text} with {shown(options.translator)}: "
        "1 thread of requests of 1 sentence, 8 threads of 1, 8 threads of 32. Medians "
        f"of {options.rounds} rounds, latencies of the last; the ratio is of the speed "
        "to that of `grpc`. Equal text: share of the translations of `grpc`."
    )
    rows = [row_of(name, found) for name in found]
    arms = {
        name: {
            "seconds": own.seconds,
            "milliseconds": {load: percentiles(own, load) for load in LOADS},
            "versions": own.versions,
            "disturbed": own.disturbed,
            "note": own.note,
            "equal_text": equal(own, found.get("grpc")),
        }
        for name, own in found.items()
    }
    details = {"loads": LOADS, "arms": arms}
    write_report("serving", title, HEADER, rows, details)


def row_of(name, found):
    """Return an arm's cells."""
    own, first = found[name], found.get("grpc")
    cells = [name]
    for load, (threads, requests, batch) in LOADS.items():
        seconds = own.median(load)
        speed = None if seconds is None else threads * requests * batch / seconds
        ratio = first and first.ratio_to(own, load)
        cells += [number(speed, 0), number(ratio)]
        latencies = percentiles(own, load)
        cells.append(", ".join(number(value, 0) for value in latencies) or "-")
    disturbed = f"{own.disturbed} disturbed" if own.disturbed else ""
    notes = "; ".join(filter(None, [own.note, disturbed]))
    return [*cells, number(equal(own, first), 3), notes]


def percentiles(own, load):
    """Return the median latency and the 99th percentile, in milliseconds."""
    if load not in own.results:
        return []
    seconds = np.array(own.results[load]["latencies"])
    return (np.percentile(seconds, [50, 99]) * 1000).tolist()


def equal(own, first):
    """Return the share of translations that are those of `first`."""
    if first is None or "one" not in own.results or "one" not in first.results:
        return None
    texts = (found.results["one"]["translations"] for found in (own, first))
    return float(np.mean([a == b for a, b in zip(*texts, strict=True)]))


if __name__ == "__main__":
    main()
