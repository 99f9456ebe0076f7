"""Why attention divides its scores by the square root of d_k.

    python examples/experiments/score_scale.py

The dot product of two vectors of d_k independent components of variance 1 has the
variance d_k. The experiment draws queries and keys, and looks at three things with the
scale and without: the variance of the scores, how much of the softmax falls on the
heaviest key, and the softmax's gradient. Then one attention layer learns, by plain
gradient descent with several rates, to find the key that a noisy query means.
"""

import keras
import numpy as np
from keras import ops
from record import Record, new_figure

from keras_transformer.attention import dot_product_attention

WIDTHS = [16, 64, 256, 1024]
KEYS = 64
SCALES = {"divided by √d_k": None, "as they are": 1.0}  # `None` is 1/sqrt(d_k)
TRAINED = [64, 1024]  # values of d_k
RATES = [0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0]
HEADER = [
    "d_k",
    "scores",
    "variance of scores",
    "weight of the heaviest key",
    "gradient of the softmax",
    "rates that learn it",
]
LEARNT = 0.95  # share of right answers


def measure(width, scale, draws, seed=0):
    """Look at the attention of random queries.

    Returns:
        The variance of the scores, the mean weight of the heaviest key, and the median
        norm of the softmax's derivative by the scores.
    """
    rng = np.random.default_rng(seed)
    query = rng.normal(size=(draws, 1, 1, width)).astype("float32")
    key = rng.normal(size=(draws, KEYS, 1, width)).astype("float32")
    factor = width**-0.5 if scale is None else scale
    scores = factor * np.einsum("bqhd,bkhd->bqk", query, key)
    _, weights = dot_product_attention(query, key, key, scale=scale, return_scores=True)
    p = ops.convert_to_numpy(weights).astype("float64")[:, 0, 0]  # (draws, key)
    squares, cubes = np.sum(p**2, axis=1), np.sum(p**3, axis=1)
    # The derivative is diag(p) - p p^T.
    norms = np.sqrt(np.maximum(squares - 2 * cubes + squares**2, 0.0))
    return float(np.var(scores)), float(np.mean(p.max(axis=1))), float(np.median(norms))


class LookUp(keras.layers.Layer):
    """One head: maps of queries and keys, and values as they are.

    Args:
        width: d_k.
        scale: factor of the query, `None` for 1/sqrt(d_k).
    """

    def __init__(self, width, scale):
        super().__init__()
        # Each map keeps a variance of 1.
        self.query_dense, self.key_dense = (
            keras.layers.Dense(width, kernel_initializer="lecun_normal", use_bias=False)
            for _ in range(2)
        )
        self.scale = scale

    def call(self, query, key, value):
        """Look up queries (batch, query, width) among the keys."""
        query = self.query_dense(query)[:, :, None]
        key = self.key_dense(key)[:, :, None]
        context = dot_product_attention(query, key, value[:, :, None], scale=self.scale)
        return context[:, :, 0]


def train(width, scale, rate, steps, seed=0):
    """Learn to find the key that a noisy query means, from the squared error.

    Returns:
        The share of right answers in the last tenth of the steps.
    """
    keras.utils.set_random_seed(seed)
    rng = np.random.default_rng(seed)
    inputs = [keras.Input((KEYS, size)) for size in (width, width, KEYS)]
    model = keras.Model(inputs, LookUp(width, scale)(*inputs))
    model.compile(
        keras.optimizers.SGD(rate, momentum=0.9),
        "mse",
        metrics=["categorical_accuracy"],
        jit_compile=False,
    )
    value, logs = np.tile(np.eye(KEYS, dtype="float32"), (16, 1, 1)), {}
    for step in range(steps):
        key = rng.normal(size=(16, KEYS, width))
        order = rng.permuted(np.tile(np.arange(KEYS), (16, 1)), axis=1)
        query = np.take_along_axis(key, order[:, :, None], axis=1)
        query = (query + rng.normal(size=query.shape)) / np.sqrt(2)  # variance 1 again
        if step == steps - max(steps // 10, 1):
            model.reset_metrics()
        batch = [query.astype("float32"), key.astype("float32"), value]
        logs = model.train_on_batch(batch, value[0][order], return_dict=True)
    return float(logs["categorical_accuracy"])


def draw(widths, measured, answers):
    """Draw the softmax by d_k, and what each rate has learnt."""
    figure, axes = new_figure(3, width=3.6)
    colors = dict(zip(SCALES, ("C0", "C3"), strict=True))
    for name, color in colors.items():
        for axis, place in ((axes[0], 1), (axes[1], 2)):
            values = [measured[name, width][place] for width in widths]
            axis.plot(widths, values, "o-", color=color, label=name)
    for (name, width), shares in answers.items():
        style = "o:" if width == min(TRAINED) else "o-"
        label = f"{name}, d_k = {width}"
        axes[2].plot(
            list(shares), list(shares.values()), style, color=colors[name], label=label
        )
    axes[0].set(xscale="log", xlabel="d_k", ylabel="weight of the heaviest key")
    axes[1].set(xscale="log", yscale="log", xlabel="d_k")
    axes[1].set(ylabel="gradient of the softmax")
    axes[2].set(xscale="log", xlabel="learning rate", ylabel="right answers")
    axes[0].legend(title="scores")
    axes[2].legend(fontsize="x-small")
    return figure


def main():
    """Measure, train, and write what was found."""
    record = Record("score_scale", __doc__.splitlines()[0])
    options = record.options()
    rates = RATES[3:5] if options.quick else RATES
    steps, draws = (20, 100) if options.quick else (300, 2000)
    measured, answers, rows = {}, {}, []
    for width in WIDTHS:
        for name, scale in SCALES.items():
            measured[name, width] = measure(width, scale, draws)
            learnt = "not tried"
            if width in TRAINED:
                shares = {rate: train(width, scale, rate, steps) for rate in rates}
                answers[name, width] = shares
                print(f"d_k {width}, {name}, right answers by rate: {shares}")
                good = [rate for rate, share in shares.items() if share >= LEARNT]
                learnt = f"{good[0]:g} to {good[-1]:g}" if good else "none"
            variance, heaviest, gradient = measured[name, width]
            figures = f"{variance:.1f}", f"{heaviest:.2f}", f"{gradient:.2g}"
            rows.append([str(width), name, *figures, learnt])
    record.write(
        f"Scores of random queries and {KEYS} keys, {draws} draws; and learning rates "
        f"with which {steps} steps of gradient descent find the key that a noisy query "
        f"means at least {LEARNT:.0%} of the time, of {rates[0]:g} to {rates[-1]:g}.",
        HEADER,
        rows,
        draw(WIDTHS, measured, answers),
        answers={", ".join(map(str, key)): each for key, each in answers.items()},
    )


if __name__ == "__main__":
    main()
