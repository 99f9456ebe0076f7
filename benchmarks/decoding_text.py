"""Text in, text out: a saved translator beside CTranslate2 with its weights."""

import numpy as np

from benchmarks.ctranslate2_text import text_translator
from benchmarks.decoding_arms.catalogue import KERAS, TENSORFLOW
from benchmarks.report import number, shown, write_report
from benchmarks.side_by_side import Arm, side_by_side
from benchmarks.worker import serve

ARMS = {
    "ours": Arm("ours", KERAS, TENSORFLOW),
    "ctranslate2": Arm("ctranslate2", ("ctranslate2", "sentencepiece"), TENSORFLOW),
    "ctranslate2-int8": Arm(
        "ctranslate2-int8", ("ctranslate2", "sentencepiece"), TENSORFLOW
    ),
}
HEADER = ["arm", "greedy s", "ours/arm", "beam 4 s", "ours/arm", "equal text", "notes"]
MEASUREMENTS = {"greedy": 1, "beam4": 1}


def run(options):
    """Measure the arms, or be one of them if `options.text_arm` names it."""
    if options.text_arm:
        serve(lambda: _start(options))
        return
    flags = ["--text", str(options.text), "--corpus", options.corpus]
    flags += ["--translator", str(options.translator)]
    found = side_by_side(
        list(ARMS.values()),
        lambda arm: ["-m", "benchmarks.decoding", "--text-arm", arm.name, *flags],
        MEASUREMENTS,
        options.rounds,
        longest=600.0,
        kept=list(MEASUREMENTS),
    )
    title = (
        f"Translating {options.text} sentences of {options.corpus} with "
        f"{shown(options.translator)}, text in and out. Medians of {options.rounds} "
        "rounds; ours/arm is the ratio of speeds, above 1 where `ours` is faster. "
        "Equal text: share of greedy translations, and of beam translations."
    )
    rows = [_row(name, found) for name in found]
    arms = {
        name: {
            "seconds": own.seconds,
            "versions": own.versions,
            "disturbed": own.disturbed,
            "note": own.note,
            "equal_text": _equal(own, found["ours"]),
        }
        for name, own in found.items()
    }
    details = {"arms": arms}
    write_report("decoding_text", title, HEADER, rows, details)


def _start(options):
    from benchmarks.sentences import sentences
    from keras_transformer import Translator

    texts = sentences(options.corpus, options.text)
    translator = Translator.load(options.translator)
    if options.text_arm == "ours":
        translate = _our_translate(translator)
    else:
        is_int8 = options.text_arm.endswith("int8")
        translate = text_translator(translator, "int8" if is_int8 else "float32")
    measurements = {
        "greedy": lambda: translate(texts, 1),
        "beam4": lambda: translate(texts, 4),
    }
    return measurements, {}


def _our_translate(translator):
    from keras_transformer import BeamSearch, GreedySearch

    searches = {
        1: GreedySearch(),
        4: BeamSearch(num_beams=4, length_penalty=0.0),
    }

    def translate(texts, beams):
        translator.search = searches[beams]
        return translator(texts)

    return translate


def _row(name, found):
    own, ours = found[name], found["ours"]
    cells = [name]
    for measurement in MEASUREMENTS:
        cells.append(number(own.median(measurement)))
        cells.append(number(own.ratio_to(ours, measurement)))
    shares = [number(share, 3) for share in _equal(own, ours).values()]
    versions = " ".join(f"{key} {value}" for key, value in own.versions.items())
    disturbed = f"{own.disturbed} disturbed" if own.disturbed else ""
    notes = "; ".join(filter(None, [own.note, versions, disturbed]))
    return [*cells, ", ".join(shares), notes]


def _equal(own, ours):
    """Return the share of translations that are those of `ours`, by measurement."""
    shares = {}
    for measurement in MEASUREMENTS:
        texts = own.results.get(measurement), ours.results.get(measurement)
        pairs = zip(*texts, strict=True) if all(texts) else ()
        equal = [one == other for one, other in pairs]
        shares[measurement] = float(np.mean(equal)) if equal else None
    return shares
