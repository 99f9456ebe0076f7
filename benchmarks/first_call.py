"""How long the first translations take, and how many functions they compile."""

import time

import numpy as np

from benchmarks.report import number, shown, write_report
from benchmarks.sentences import sentences_of_lengths
from keras_transformer import Translator

LENGTHS = np.linspace(5, 100, 20).astype(int)  # tokens


def run(options):
    """Translate sentences of many lengths with a translator that is still cold."""
    start = time.perf_counter()
    translator = Translator.load(options.translator)
    load_seconds = time.perf_counter() - start
    traces = count_traces(translator)
    texts = sentences_of_lengths(options.corpus, translator.tokenizer, LENGTHS)
    stages = [
        ("first call, shortest sentence", texts[:1]),
        ("the same again", texts[:1]),
        *(
            (f"alone, {n} tokens", [text])
            for n, text in zip(LENGTHS, texts, strict=True)
        ),
        ("all 20 in one call", texts),
        ("the same again", texts),
    ]
    rows, measured = [], []
    for name, batch in stages:
        start, before = time.perf_counter(), len(traces)
        translator(batch)
        seconds, added = time.perf_counter() - start, len(traces) - before
        rows.append([name, number(seconds, 3), str(added)])
        measured.append({"stage": name, "seconds": seconds, "functions": added})
    total = [sum(stage["seconds"] for stage in measured), len(traces)]
    rows.append(["sum", number(total[0], 3), str(total[1])])
    title = (
        f"Calls of {shown(options.translator)} after loading ({load_seconds:.1f} s): "
        "seconds, and functions compiled."
    )
    details = {
        "load_seconds": load_seconds,
        "stages": measured,
        "functions": len(traces),
    }
    write_report(
        "decoding_first_call", title, ["call", "s", "functions"], rows, details
    )


def count_traces(translator):
    """Make the translator's search note each time that it is traced.

    A compiled search runs its Python code once for each function compiled.

    Returns:
        A list that grows by one element for each.
    """
    kind, traces = type(translator.search), []

    class Counted(kind):
        def __call__(self, *arguments, **options):
            traces.append(options["max_length"])
            return super().__call__(*arguments, **options)

    translator.search = Counted.from_config(translator.search.get_config())
    return traces
