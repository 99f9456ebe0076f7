"""Time and memory of attention, forward and backward, at growing lengths.

    python -m benchmarks.attention_length --lengths 512 2048 8192

Each measurement has a process of its own, since a process never shows less than the
most it has held. It compiles and warms up at a short length, with both lengths unknown
to the graph; what it holds then is where its memory counts from.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

from benchmarks.report import number, write_report
from benchmarks.resident_memory import megabytes

# Name of the attention function, and its options.
ARMS = {
    "dot_product": ("dot_product", {}),
    "blockwise": ("blockwise", {}),
    "linear": ("linear", {}),
    "window": ("blockwise", {"window": 128}),
}
LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
WARM_UP = 160  # longer than a block of queries


def measure(arm, length, options):
    """Run one arm in this process."""
    import tensorflow as tf

    from keras_transformer.attention import KERNELS

    name, own = ARMS[arm]
    heads = options.heads
    shape = (options.batch, length, heads, options.width // heads)
    spec = tf.TensorSpec((None, None, *shape[2:]))

    @tf.function(input_signature=[spec] * 3)
    def step(*inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            context = KERNELS[name](*inputs, causal=options.causal, **own)
            loss = tf.reduce_sum(context * context)
        return tape.gradient(loss, inputs)

    rng = np.random.default_rng(1)
    inputs = [tf.constant(rng.normal(size=shape), "float32") for _ in range(3)]
    short = [tf.zeros((shape[0], WARM_UP, *shape[2:])) for _ in range(3)]
    step(*short)
    before, seconds = megabytes()["resident"], []
    for _ in range(options.rounds + 1):
        start = time.perf_counter()
        for gradient in step(*inputs):
            gradient.numpy()
        seconds.append(time.perf_counter() - start)
    return {
        "seconds": statistics.median(seconds[1:]),
        "megabytes": megabytes()["peak"] - before,
    }


def run(options):
    """Measure all arms at all lengths, and report."""
    found = {}
    for length in options.lengths:
        for arm in options.arms:
            found[arm, length] = _in_new_process(arm, length)
            print(arm, length, found[arm, length], flush=True)
    header = ["length"]
    for arm in options.arms:
        header += [f"{arm}, s", f"{arm}, MB"]
    rows = []
    for length in options.lengths:
        cells = [found[arm, length] for arm in options.arms]
        numbers = (
            (number(cell["seconds"], 3), number(cell["megabytes"], 0)) for cell in cells
        )
        rows.append([str(length), *(text for pair in numbers for text in pair)])
    rows_seen = ", causal" if options.causal else ""
    title = (
        f"Attention forward and backward, batch {options.batch}, width "
        f"{options.width}, {options.heads} heads{rows_seen}: the median of "
        f"{options.rounds} warm runs, and the peak of memory above the start. A window "
        f"reaches {ARMS['window'][1]['window'] - 1} positions."
    )
    points = [
        {"arm": arm, "length": length, **cell} for (arm, length), cell in found.items()
    ]
    details = {"points": points}
    write_report("attention_length", title, header, rows, details)


def _in_new_process(arm, length):
    command = [
        sys.executable, "-m", "benchmarks.attention_length", *sys.argv[1:],
        "--measure", arm, str(length),
    ]  # fmt: skip
    environment = {
        **os.environ, "KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3",
    }  # fmt: skip
    process = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(process.stdout.splitlines()[-1])


def main():
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        arm, length = options.measure
        print(json.dumps(measure(arm, int(length), options)))
    else:
        run(options)


if __name__ == "__main__":
    main()
