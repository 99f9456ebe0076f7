"""Memory of a model server over many requests of mixed length."""

import random
import time

from benchmarks.model_server import ModelServer
from benchmarks.report import write_report
from benchmarks.resident_memory import memory_table
from keras_transformer import GreedySearch, Translator

PARTS = 10


def run(options):
    """Send requests, and note the server's memory ten times on the way."""
    from benchmarks.serving import sentences_of

    sentences, chance = sentences_of(options), random.Random(0)
    translator = Translator.load(options.translator)
    translator.search = GreedySearch()
    server = ModelServer(translator)
    translate, every = server.grpc(), max(options.memory // PARTS, 1)
    start, sent = time.perf_counter(), 0
    points = [{"requests": 0, "texts": 0, "seconds": 0.0, **server.megabytes()}]
    for count in range(1, options.memory + 1):
        texts = request(sentences, chance)
        sent += len(translate(texts))
        if count % every == 0:
            seconds = time.perf_counter() - start
            where = {"requests": count, "texts": sent, "seconds": seconds}
            points.append({**where, **server.megabytes()})
    server.stop()
    title = (
        f"Memory of the server over {options.memory} requests: 0 to 16 texts each, "
        "most of one sentence, some of up to 20 joined, one request in a hundred of "
        "100,000 letters."
    )
    table = memory_table(points, ["requests", "texts"])
    details = {"points": points}
    write_report("serving_memory", title, *table, details)


def request(sentences, chance):
    """Return the texts of a request."""
    if chance.random() < 0.01:
        return ["letters " * 12_500]
    count = chance.choice([0, *[1] * 10, 2, 4, 8, 16])
    joined = [
        1 if chance.random() < 0.9 else chance.randint(2, 20) for _ in range(count)
    ]
    return [" ".join(chance.sample(sentences, number)) for number in joined]
