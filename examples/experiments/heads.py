"""What several heads can do that one can't, and what their maps don't show.

    python examples/experiments/heads.py

First a task: each position has to give the number before it less the number after it.
Queries and keys know positions, values know numbers. A head's weights are positive and
sum to one, so that one head gives a mean, never a difference; two can. Then a
translator of a generated language is trained twice, from two seeds. The plot shows
where the heads of the first look; the table, how much of that is another thing in the
second, which translates alike.
"""

import itertools

import keras
import numpy as np
from keras import ops
from record import Record
from toy_translator import toy_corpus, toy_translator

from keras_transformer import MultiHeadAttention, PositionalEncoding

LENGTH, WIDTH = 16, 32
SENTENCE = "The small dog sees two red houses."


def difference_task(heads, steps, seed=0):
    """Train one attention layer to subtract the next number from the one before.

    Returns:
        The mean squared error on new numbers, and the maps (heads, query, key).
    """
    keras.utils.set_random_seed(seed)
    rng = np.random.default_rng(seed)
    attention = MultiHeadAttention(heads, WIDTH, value_dim=4, output_dim=1)
    place = keras.Input((LENGTH, WIDTH))
    number = keras.Input((LENGTH, 1))
    encoded = PositionalEncoding(max_wavelength=100.0)(place)
    output = attention(encoded, number, encoded)
    model = keras.Model([place, number], output[:, 1:-1])
    model.compile(keras.optimizers.Adam(1e-2), "mse", jit_compile=False)

    def batch(size):
        numbers = rng.normal(size=(size, LENGTH, 1)).astype("float32")
        nothing = np.zeros((size, LENGTH, WIDTH), "float32")
        return [nothing, numbers], numbers[:, :-2] - numbers[:, 2:]

    for _ in range(steps):
        model.train_on_batch(*batch(128))
    inputs, target = batch(5000)
    error = np.mean((model.predict_on_batch(inputs) - target) ** 2)
    places = PositionalEncoding(max_wavelength=100.0)(inputs[0][:1])
    _, maps = attention(places, inputs[1][:1], places, return_attention_scores=True)
    return float(error), ops.convert_to_numpy(maps)[0]


def with_two_more_heads(layer, shape, seed=0):
    """Copy attention, and add two heads that look elsewhere and cancel each other.

    Args:
        layer: a built `MultiHeadAttention`.
        shape: of its inputs.
        seed: of the weights that are added.

    Returns:
        A layer of the same function, with other maps.
    """
    rng = np.random.default_rng(seed)
    more = MultiHeadAttention(layer.num_heads + 2, layer.key_dim)
    more.build(shape, shape)
    weights = []
    for path, weight in ((w.path, ops.convert_to_numpy(w)) for w in layer.weights[:7]):
        axis = 0 if "output/kernel" in path or weight.ndim == 2 else 1
        one = 0.5 * rng.normal(size=np.delete(weight.shape, axis))
        sign = -1 if "output/kernel" in path else 1
        added = np.stack([one, sign * one], axis).astype("float32")
        weights.append(np.concatenate([weight, added], axis))
    more.set_weights([*weights, *map(ops.convert_to_numpy, layer.weights[7:])])
    return more


def distance(one, other):
    """Mean total variation of two maps, from 0 (the same) to 1 (nothing in common)."""
    return float(np.mean(np.abs(one - other).sum(axis=-1)) / 2)


def matched_distance(one, other):
    """Distance of the maps (heads, query, key) of two layers, heads matched at best."""
    orders = itertools.permutations(range(len(other)))
    return min(distance(one, other[list(order)]) for order in orders)


def cancelling_heads(translator):
    """Compare a trained layer with its copy that has two more heads.

    Returns:
        The largest difference of the outputs, and the distance of the mean maps.
    """
    parts = translator.model.parts
    block = parts.encoder_blocks[0]
    ids = np.asarray(translator.tokenizer(SENTENCE))[None]
    x = block.self_attention_residual.enter(parts.source(ids))
    layers = block.self_attention, with_two_more_heads(block.self_attention, x.shape)
    (one, maps), (other, more) = (
        [ops.convert_to_numpy(y) for y in layer(x, x, return_attention_scores=True)]
        for layer in layers
    )
    means = (each.mean(axis=1) for each in (maps, more))
    return float(np.max(np.abs(one - other))), distance(*means)


def two_seeds(translators, sources):
    """Compare two translators of the same data.

    Returns:
        The share of equal translations; the mean distance of their cross-attention maps
        over equal translations, by layer; and for comparison, that of different heads
        of the first.
    """
    texts = [translator(sources) for translator in translators]
    same = [s for s, a, b in zip(sources, *texts, strict=True) if a == b]
    maps = [[m.cross for m in each.attention(same)] for each in translators]
    layers = range(maps[0][0].shape[0])
    between = [
        np.mean([matched_distance(a[i], b[i]) for a, b in zip(*maps, strict=True)])
        for i in layers
    ]
    within = [
        np.mean(
            [
                distance(a[i][one], a[i][other])
                for a in maps[0]
                for one, other in itertools.combinations(range(a.shape[1]), 2)
            ]
        )
        for i in layers
    ]
    return len(same) / len(sources), between, within


def draw(task_maps, maps):
    """Draw the maps of the task's heads, and those between source and target."""
    from matplotlib import pyplot

    layers, heads = maps.cross.shape[:2]
    figure, axes = pyplot.subplots(
        layers + 1, heads, figsize=(3 * heads, 3.2 * (layers + 1)), layout="constrained"
    )
    for axis in axes[0]:
        axis.axis("off")
    for i, (name, one) in enumerate(task_maps):
        axis = axes[0][i]
        axis.axis("on")
        axis.imshow(one, cmap="Blues", vmin=0, vmax=1)
        axis.set(title=name, xlabel="key", ylabel="query")
    for layer, head in itertools.product(range(layers), range(heads)):
        axis = axes[layer + 1][head]
        axis.imshow(maps.cross[layer, head], cmap="Blues", vmin=0, vmax=1)
        axis.set_title(f"decoder block {layer}, head {head}", fontsize=9)
        axis.set_xticks(range(len(maps.source_tokens)), maps.source_tokens, rotation=90)
        axis.set_yticks(range(len(maps.predicted_tokens)), maps.predicted_tokens)
        axis.tick_params(labelsize=7)
    return figure


def main():
    """Train, compare, and write what was found."""
    record = Record("heads", __doc__.splitlines()[0])
    options = record.options()
    rows, shown = [], []
    for heads in (1, 2, 4):
        error, maps = difference_task(heads, 10 if options.quick else 800)
        bound = "at least 1.00" if heads == 1 else "0.00"
        rows.append([f"difference task, {heads} heads: error", f"{error:.2f}", bound])
        if heads <= 2:
            names = [f"task, head {i + 1} of {heads}" for i in range(heads)]
            shown += zip(names, maps, strict=True)
    corpus, tokenizer = toy_corpus()
    translators = [
        toy_translator(corpus, tokenizer, seed=seed, epochs=1 if options.quick else 10)
        for seed in (1, 2)
    ]
    output, mean_maps = cancelling_heads(translators[0])
    rows.append(["two cancelling heads added: output differs by", f"{output:.1g}", "0"])
    rows.append(["and the mean map by", f"{mean_maps:.2f}", "more than 0"])
    sources = [source for source, _ in corpus.test[:100]]
    share, between, within = two_seeds(translators, sources)
    rows.append(["two seeds: equal translations", f"{share:.0%}", "nearly all"])
    for layer, (far, apart) in enumerate(zip(between, within, strict=True)):
        name = f"two seeds: maps of decoder block {layer} differ by"
        rows.append([name, f"{far:.2f}", f"{apart:.2f} between heads of one model"])
    record.write(
        "The difference of two neighbours, by one attention layer: mean squared error, "
        "2 for a constant. Maps: mean total variation, 0 to 1, heads matched at best.",
        ["what", "found", "for comparison"],
        rows,
        draw(shown, translators[0].attention(SENTENCE)),
    )


if __name__ == "__main__":
    main()
