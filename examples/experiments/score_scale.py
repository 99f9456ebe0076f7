"""Why attention divides its scores by the square root of d_k.

    python examples/experiments/score_scale.py

The dot product of two vectors of d_k independent components of variance 1 has the
variance d_k. The experiment draws queries and keys, and looks at three things with the
scale and without: the variance of the scores, how much of the softmax falls on the
heaviest key, and the softmax's gradient. Then one attention layer learns to find the
key that a noisy query means, by plain gradient descent and by Adam, which divides
gradients by their size.
"""

import keras
import numpy as np
from keras import ops
from record import Record, new_figure

from keras_transformer.attention import dot_product_attention

WIDTHS = [16, 64, 256, 1024]
KEYS = 64
SCALES = {"divided by √d_k": None, "as they are": 1.0}  # `None` is 1/sqrt(d_k)
OPTIMIZERS = {
    "gradient descent": lambda: keras.optimizers.SGD(30.0, momentum=0.9),
    "Adam": lambda: keras.optimizers.Adam(1e-3),
}
EVERY = 10  # steps from one point of a curve to the next
HEADER = [
    "d_k",
    "scores",
    "variance of scores",
    "weight of the heaviest key",
    "gradient of the softmax",
    "right answers, gradient descent",
    "steps to 90 % with Adam",
]


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


def train(width, scale, optimizer, steps, seed=0):
    """Learn to find the key that a noisy query means, from the squared error.

    Returns:
        The share of right answers in every ten steps.
    """
    keras.utils.set_random_seed(seed)
    rng = np.random.default_rng(seed)
    inputs = [keras.Input((KEYS, size)) for size in (width, width, KEYS)]
    model = keras.Model(inputs, LookUp(width, scale)(*inputs))
    model.compile(optimizer, "mse", metrics=["categorical_accuracy"], jit_compile=False)
    curve, value = [], np.tile(np.eye(KEYS, dtype="float32"), (16, 1, 1))
    for step in range(1, steps + 1):
        key = rng.normal(size=(16, KEYS, width))
        order = rng.permuted(np.tile(np.arange(KEYS), (16, 1)), axis=1)
        query = np.take_along_axis(key, order[:, :, None], axis=1)
        query = (query + rng.normal(size=query.shape)) / np.sqrt(2)  # variance 1 again
        batch = [query.astype("float32"), key.astype("float32"), value]
        logs = model.train_on_batch(batch, value[0][order], return_dict=True)
        if step % EVERY == 0:
            curve.append(float(logs["categorical_accuracy"]))
            model.reset_metrics()
    return curve


def steps_to(share, curve):
    """Return the first step after which `curve` has reached `share`, as text."""
    reached = [EVERY * (i + 1) for i, right in enumerate(curve) if right >= share]
    return str(reached[0]) if reached else f"more than {EVERY * len(curve)}"


def draw(widths, measured, curves):
    """Draw the softmax by d_k, and learning at the largest one."""
    figure, axes = new_figure(3, width=3.6)
    colors = dict(zip(SCALES, ("C0", "C3"), strict=True))
    for name, color in colors.items():
        for axis, place in ((axes[0], 1), (axes[1], 2)):
            values = [measured[name, width][place] for width in widths]
            axis.plot(widths, values, "o-", color=color, label=name)
        for optimizer, style in zip(OPTIMIZERS, ("-", ":"), strict=True):
            curve = curves[name, optimizer, widths[-1]]
            steps = EVERY * np.arange(1, len(curve) + 1)
            label = f"{optimizer}, {name}"
            axes[2].plot(steps, curve, style, color=color, label=label)
    axes[0].set(xscale="log", xlabel="d_k", ylabel="weight of the heaviest key")
    axes[1].set(xscale="log", yscale="log", xlabel="d_k")
    axes[1].set(ylabel="gradient of the softmax")
    axes[2].set(xlabel="step", ylabel=f"right answers, d_k = {widths[-1]}")
    axes[0].legend(title="scores")
    axes[2].legend(fontsize="x-small")
    return figure


def main():
    """Measure, train, and write what was found."""
    record = Record("score_scale", __doc__.splitlines()[0])
    options = record.options()
    widths = WIDTHS[:2] if options.quick else WIDTHS
    steps, draws = (20, 100) if options.quick else (300, 2000)
    measured, curves, rows = {}, {}, []
    for width in widths:
        for name, scale in SCALES.items():
            measured[name, width] = measure(width, scale, draws)
            for optimizer, make in OPTIMIZERS.items():
                curve = train(width, scale, make(), steps)
                curves[name, optimizer, width] = curve
                print(f"d_k {width}, {name}, {optimizer}: {curve[-1]:.1%} right")
            variance, heaviest, gradient = measured[name, width]
            right = np.mean(curves[name, "gradient descent", width][-5:])
            reached = steps_to(0.9, curves[name, "Adam", width])
            figures = f"{variance:.1f}", f"{heaviest:.2f}", f"{gradient:.2g}"
            rows.append([str(width), name, *figures, f"{right:.1%}", reached])
    record.write(
        f"Scores of random queries and {KEYS} keys, {draws} draws; and {steps} steps "
        "of learning to find the key that a noisy query means.",
        HEADER,
        rows,
        draw(widths, measured, curves),
        curves={", ".join(map(str, key)): curve for key, curve in curves.items()},
    )


if __name__ == "__main__":
    main()
