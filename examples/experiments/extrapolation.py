"""Longer texts than a model was trained on, for each way to tell positions.

    python examples/experiments/extrapolation.py

Small language models of characters learn from pieces of 64 characters and then read
pieces of up to 1024. A sentence is some 30 characters long, and its neighbours have
nothing to do with it: nothing has to be learned beyond 64, so that a model which can
read on predicts the last characters of a long piece as well as those of a short one.
"""

import keras
import numpy as np
from record import Record, new_figure
from sentence_stream import as_stream, characters_of, english_sentences, windows
from timed_training import fit_for

from keras_transformer import (
    AlibiBias,
    LanguageModel,
    RelativePositionBias,
    RotaryEmbedding,
    SmoothedCrossEntropy,
)

TRAINED, LENGTHS, LAST = 64, [64, 128, 256, 512, 1024], 32
POSITIONS = {
    "sinusoidal": lambda: {"position": "sinusoidal"},
    "learned": lambda: {"position": "learned", "max_length": LENGTHS[-1]},
    "rotary": lambda: {"position": RotaryEmbedding()},
    "ALiBi": lambda: {"position": AlibiBias()},
    "relative": lambda: {"position": RelativePositionBias(bidirectional=False)},
    "none": lambda: {"position": None},
}


def train(options, stream, size, seconds):
    """Train a language model on pieces of the stream."""
    keras.utils.set_random_seed(1)
    model = LanguageModel(
        size, num_layers=3, hidden_dim=128, num_heads=4, intermediate_dim=512,
        dropout=0.0, attention_dropout=0.0, scale_embeddings=True, seed=1, **options,
    )  # fmt: skip
    model.compile(
        keras.optimizers.Adam(beta_2=0.98),
        loss=SmoothedCrossEntropy(0.0),
        jit_compile=keras.backend.backend() == "jax",
    )
    pieces = windows(stream, TRAINED, 64 * 1000)
    budget = fit_for(model, *pieces, seconds=seconds, rate=2e-3, batch_size=64)
    return model, budget.steps


def losses(model, stream, lengths, pieces=64):
    """Loss of the last characters of pieces of each length, in bits.

    All lengths end with the same characters.
    """
    rows, labels = windows(stream, max(lengths), pieces, seed=2)
    found = []
    for length in lengths:
        parts = np.split(rows[:, -length:], max(pieces * length // 8192, 1))
        logits = np.concatenate([model.predict_on_batch(part) for part in parts])
        logits = logits[:, -LAST:].astype("float64")
        logits -= logits.max(axis=-1, keepdims=True)
        scores = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        right = np.take_along_axis(scores, labels[:, -LAST:, None], axis=-1)
        found.append(float(-np.mean(right) / np.log(2)))
    return found


def main():
    """Train, read on, compare."""
    record = Record("extrapolation", __doc__.splitlines()[0])
    record.parser.add_argument(
        "--seconds", type=float, help="training time of each model, 75"
    )
    options = record.options()
    seconds = options.seconds or (3 if options.quick else 75)
    train_sentences, held_out = english_sentences(options.quick)
    characters = characters_of(train_sentences)
    stream = as_stream(train_sentences, characters)
    unseen = as_stream(held_out, characters)
    lengths = LENGTHS[:3] if options.quick else LENGTHS
    rows, found = [], {}
    for name, make in POSITIONS.items():
        model, steps = train(make(), stream, len(characters) + 3, seconds)
        found[name] = losses(model, unseen, lengths)
        worse = found[name][-1] - found[name][0]
        figures = [f"{loss:.2f}" for loss in found[name]]
        rows.append([name, str(steps), *figures, f"{worse:+.2f}"])
        print(*rows[-1], sep=" | ", flush=True)
    figure, (axis,) = new_figure(1, width=6)
    for name, values in found.items():
        axis.plot(lengths, values, "o-", label=name, lw=1, ms=3)
    axis.axvline(TRAINED, color="gray", lw=1, ls=":")
    axis.set(xscale="log", xlabel="length of the piece (trained on 64)")
    axis.set(ylabel=f"bits for each of the last {LAST} characters")
    axis.set_xticks(lengths, map(str, lengths), minor=False)
    axis.minorticks_off()
    axis.legend()
    record.write(
        f"Language models of characters, trained for {seconds:.0f} seconds each on "
        f"pieces of {TRAINED}: bits for each of the last {LAST} characters of held-out "
        "pieces, by the length of what was read.",
        ["positions", "steps", *map(str, lengths), "change"],
        rows,
        figure,
        lengths=lengths,
        losses=found,
    )


if __name__ == "__main__":
    main()
