"""The paper's table of what a layer costs and how far it sees, computed and measured.

    python examples/experiments/complexity.py

For self-attention (whole, by blocks, within a window, linear), a recurrence and a
convolution: operations, sequential steps and the layers until all positions have met,
by formula; on how many positions the last one depends after one layer, and how much
(each is changed in turn); time and memory of a training step for lengths from 64 to
4096. Each kind of layer runs in a process of its own.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import keras
import numpy as np
from keras import ops
from record import Record, new_figure

from keras_transformer import MultiHeadAttention

WIDTH, HEADS, WINDOW, KERNEL = 256, 4, 64, 3
LENGTHS = [64, 128, 256, 512, 1024, 2048, 4096]
DISTANCES = [0, 1, 4, 16, 64, 255]
HEADER = [
    "layer",
    "10⁹ multiply-adds",
    "sequential steps",
    "layers until all have met",
    "positions reached, of 256",
    f"dependence at distance {DISTANCES[-1]}",
    "ms",
    "time grows with length to the",
    "MB",
    "memory grows with length to the",
]
STATUS = Path("/proc/self/status")


class SelfAttention(keras.layers.Layer):
    """`MultiHeadAttention` of a sequence to itself.

    Args:
        **options: of `MultiHeadAttention`.
    """

    def __init__(self, **options):
        super().__init__()
        self.attention = MultiHeadAttention(HEADS, WIDTH // HEADS, **options)

    def call(self, x):
        """Attend from x (batch, length, width) to x."""
        return self.attention(x, x)


LAYERS = {
    "self-attention": SelfAttention,
    "self-attention, by blocks": lambda: SelfAttention(attention="blockwise"),
    "self-attention, window": lambda: SelfAttention(
        attention="blockwise", window=WINDOW
    ),
    "linear attention": lambda: SelfAttention(attention="linear"),
    "recurrence (LSTM)": lambda: keras.layers.LSTM(WIDTH, return_sequences=True),
    "convolution": lambda: keras.layers.Conv1D(WIDTH, KERNEL, padding="same"),
}
# Multiply-adds of a layer for n positions, projections included; sequential steps; how
# far one layer reaches, `None` for everywhere.
FORMULAS = {
    "self-attention": (lambda n, d: 4 * n * d**2 + 2 * n**2 * d, "1", None),
    "self-attention, by blocks": (lambda n, d: 4 * n * d**2 + 2 * n**2 * d, "1", None),
    "self-attention, window": (
        lambda n, d: 4 * n * d**2 + 2 * n * min(2 * WINDOW - 1, n) * d, "1", WINDOW - 1,
    ),
    "linear attention": (
        lambda n, d: 4 * n * d**2 + 2 * n * d * (d // HEADS), "1", None,
    ),
    "recurrence (LSTM)": (lambda n, d: 8 * n * d**2, "n", None),
    "convolution": (lambda n, d: KERNEL * n * d**2, "1", KERNEL // 2),
}  # fmt: skip


def reached(make, length=256):
    """Change one position at a time, and look at the last.

    Returns:
        The number of positions on which the last output depends; and how much it
        changes with positions at some distances, relative to its own.
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1, length, WIDTH)).astype("float32")
    changed = np.repeat(x, length, axis=0)  # row i: position i is another
    changed[np.arange(length), np.arange(length)] = rng.normal(size=(length, WIDTH))
    layer = make()
    last = ops.convert_to_numpy(layer(x))[:, -1]
    moved = np.concatenate(
        [
            ops.convert_to_numpy(layer(rows))[:, -1] - last
            for rows in np.split(changed, 8)
        ]
    )
    sizes = np.linalg.norm(moved, axis=1)[::-1]  # by distance from the last
    noise = 1e-6 * np.linalg.norm(last)
    shares = {int(d): float(sizes[d] / sizes[0]) for d in DISTANCES}
    return int(np.sum(sizes > noise)), shares


def step_cost(make, length, repeats, before):
    """Time and memory of a training step on one sequence.

    Args:
        make: function that makes the layer.
        length: of the sequence.
        repeats: number of steps.
        before: megabytes that the process held at its start.

    Returns:
        Seconds, the median of some steps, and megabytes at the most above `before`;
        `None` where the system does not tell.
    """
    x = np.random.default_rng(0).normal(size=(1, length, WIDTH)).astype("float32")
    inputs = keras.Input((length, WIDTH))
    model = keras.Model(inputs, make()(inputs))
    model.compile(keras.optimizers.SGD(0.0), "mse", jit_compile=keras_compiles())
    if before is not None:
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    seconds = []
    for _ in range(repeats + 1):  # the first compiles
        start = time.perf_counter()
        model.train_on_batch(x, x)
        seconds.append(time.perf_counter() - start)
    peak = megabytes("VmHWM")
    used = None if before is None or peak is None else max(peak - before, 0.0)
    return statistics.median(seconds[1:]), used


def keras_compiles():
    """Whether steps are compiled by XLA: on JAX."""
    return keras.backend.backend() == "jax"


def megabytes(name):
    """Read a figure of this process's memory, `None` outside Linux."""
    if not STATUS.exists():
        return None
    for line in STATUS.read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    return None


def measure(kind, lengths, repeats):
    """Measure one kind of layer, in the process of its own."""
    make = LAYERS[kind]
    positions, dependence = reached(make)
    before = megabytes("VmRSS")
    cost = [step_cost(make, length, repeats, before) for length in lengths]
    return {"reached": positions, "dependence": dependence, "cost": cost}


def measured_in_a_process(kind, lengths, repeats):
    """Call this script for one kind, and read what it prints."""
    arguments = ["--kind", kind, "--repeats", str(repeats), "--lengths"]
    result = subprocess.run(
        [sys.executable, __file__, *arguments, *map(str, lengths)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(result.stdout.splitlines()[-1])


def slope(lengths, values):
    """Power of the length by which the last doubling has grown, as text."""
    if len(values) < 2 or None in values[-2:] or min(values[-2:]) <= 0:
        return "-"
    return f"{np.log(values[-1] / values[-2]) / np.log(lengths[-1] / lengths[-2]):.1f}"


def row_of(kind, found, lengths):
    """Return the cells of one kind of layer."""
    operations, steps, reach = FORMULAS[kind]
    seconds, memory = zip(*found["cost"], strict=True)
    n = lengths[-1]
    return [
        kind,
        f"{operations(n, WIDTH) / 1e9:.2f}",
        str(n) if steps == "n" else steps,
        "1" if reach is None else str(-(-(n - 1) // reach)),
        str(found["reached"]),
        f"{found['dependence'][str(DISTANCES[-1])]:.1g}",
        f"{1000 * seconds[-1]:.0f}",
        slope(lengths, seconds),
        "-" if memory[-1] is None else f"{memory[-1]:.0f}",
        slope(lengths, memory),
    ]


def draw(results, lengths):
    """Draw time and memory by length, and dependence by distance."""
    figure, axes = new_figure(3, width=4)
    for index, (kind, found) in enumerate(results.items()):
        seconds, memory = zip(*found["cost"], strict=True)
        style = {"color": f"C{index}", "label": kind, "marker": ".", "lw": 1}
        axes[0].plot(lengths, [1000 * each for each in seconds], **style)
        if None not in memory:
            axes[1].plot(lengths, memory, **style)
        shares = [max(share, 1e-8) for share in found["dependence"].values()]
        axes[2].plot([max(d, 0.5) for d in DISTANCES], shares, **style)
    for axis in axes[:2]:
        axis.set(xscale="log", yscale="log", xlabel="length")
    axes[0].set_ylabel("ms for a training step")
    axes[1].set_ylabel("MB at the most")
    axes[2].set(xscale="log", yscale="log", xlabel="distance")
    axes[2].set_ylabel("change of the last output, 1 for its own input")
    axes[0].legend(fontsize="x-small")
    return figure


def main():
    """Measure all kinds, and write what was found."""
    record = Record("complexity", __doc__.splitlines()[0])
    for name, kind in (("--kind", str), ("--repeats", int)):
        record.parser.add_argument(name, type=kind, help=argparse.SUPPRESS)
    record.parser.add_argument(
        "--lengths", type=int, nargs="+", help="lengths of the sequences"
    )
    options = record.options()
    lengths = options.lengths or (LENGTHS[:3] if options.quick else LENGTHS)
    if options.kind:
        print(json.dumps(measure(options.kind, lengths, options.repeats)))
        return
    results = {}
    for kind in LAYERS:
        results[kind] = measured_in_a_process(kind, lengths, 1 if options.quick else 5)
        print(*row_of(kind, results[kind], lengths), sep=" | ")
    n = lengths[-1]
    record.write(
        f"Layers of width {WIDTH}, {HEADS} heads, window {WINDOW}, kernel {KERNEL}; a "
        f"training step on one sequence. Costs at length {n}, dependence at 256.",
        HEADER,
        [row_of(kind, found, lengths) for kind, found in results.items()],
        draw(results, lengths),
        lengths=lengths,
        results=results,
    )


if __name__ == "__main__":
    main()
