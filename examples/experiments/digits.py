"""Patches or convolutions: what a built-in idea of neighbourhood is worth.

    python examples/experiments/digits.py

A Transformer of image patches and a convolutional network of about as many parameters
learn the 1,797 digits that come with scikit-learn (8 x 8 pixels), from 50 of them up to
1,400. The convolution knows that neighbouring pixels belong together and that a stroke
is the same stroke elsewhere; the Transformer has to find out.
"""

import keras
import numpy as np
from record import Record, new_figure
from sklearn.datasets import load_digits

from keras_transformer import ImageClassifier

SIZES, SEEDS, TEST = [50, 100, 200, 400, 800, 1400], 3, 397


def patches():
    """A Transformer of 2 x 2 patches: 16 of them, and a class token."""
    return ImageClassifier(
        10, image_size=8, channels=1, patch_size=2, num_layers=2, hidden_dim=32,
        num_heads=4, intermediate_dim=64, dropout=0.1,
    )  # fmt: skip


def convolutions():
    """Two convolutions, each with pooling behind it, and a dense layer."""
    layers = [
        keras.Input((8, 8, 1)),
        keras.layers.Conv2D(28, 3, padding="same", activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(60, 3, padding="same", activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dropout(0.1),
        keras.layers.Dense(10),
    ]
    return keras.Sequential(layers)


MODELS = {"Transformer of patches": patches, "convolutional": convolutions}


def accuracy(make, number, seed, steps):
    """Train on `number` digits, and return the share of right answers on others."""
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 8, 8, 1).astype("float32") / 8 - 1
    order = np.random.default_rng(seed).permutation(len(images))
    images, labels = images[order], labels[order]
    keras.utils.set_random_seed(seed)
    model = make()
    rate = keras.optimizers.schedules.CosineDecay(
        0.0, steps, warmup_target=2e-3, warmup_steps=steps // 10
    )
    model.compile(
        keras.optimizers.Adam(rate),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=keras.backend.backend() == "jax",
    )
    train = images[TEST : TEST + number], labels[TEST : TEST + number]
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        rows = rng.integers(0, number, 64)
        model.train_on_batch(train[0][rows], train[1][rows])
    answers = model.predict_on_batch(images[:TEST]).argmax(axis=-1)
    return float(np.mean(answers == labels[:TEST])), model.count_params()


def main():
    """Train on more and more digits."""
    record = Record("digits", __doc__.splitlines()[0])
    options = record.options()
    sizes = SIZES[:2] if options.quick else SIZES
    steps, seeds = (20, 1) if options.quick else (800, SEEDS)
    found, rows = {}, []
    for name, make in MODELS.items():
        for number in sizes:
            results = [accuracy(make, number, seed, steps) for seed in range(seeds)]
            found[name, number] = [right for right, _ in results]
            print(name, number, found[name, number], flush=True)
        means = [f"{np.mean(found[name, number]):.1%}" for number in sizes]
        rows.append([name, f"{results[0][1]:,}", *means])
    figure, (axis,) = new_figure(1, width=6)
    for name in MODELS:
        values = np.array([found[name, number] for number in sizes])
        axis.plot(sizes, values.mean(axis=1), "o-", label=name)
        axis.fill_between(sizes, values.min(axis=1), values.max(axis=1), alpha=0.2)
    axis.set(xscale="log", xlabel="digits to learn from")
    axis.set_xticks(sizes, map(str, sizes), minor=False)
    axis.minorticks_off()
    axis.set_ylabel(f"right answers, of {TEST} others")
    axis.legend()
    record.write(
        f"Right answers on {TEST} digits that were not trained on, mean of {seeds} "
        f"seeds; {steps} steps of 64 digits each, by the number to learn from.",
        ["model", "parameters", *map(str, sizes)],
        rows,
        figure,
        accuracy={f"{name}, {number}": each for (name, number), each in found.items()},
    )


if __name__ == "__main__":
    main()
