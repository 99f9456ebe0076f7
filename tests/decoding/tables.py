"""Step functions over tables of probabilities, and searches in plain Python."""

import itertools

import keras
import numpy as np
from keras import ops

BACKEND = keras.backend.backend()


def log_table(rows, vocabulary=6):
    """`{token: {next token: probability}}` to `(vocabulary, vocabulary)` logs."""
    table = np.zeros((vocabulary, vocabulary))
    for token, successors in rows.items():
        for successor, probability in successors.items():
            table[token, successor] = probability
    with np.errstate(divide="ignore"):
        return np.log(table).astype("float32")


def table_step(table):
    """The step function of a table that looks at the last token only."""

    def step(token_ids, state, index):
        return ops.take(ops.convert_to_tensor(table), token_ids, axis=0), state

    return step


def prefix_step(tables):
    """A step over `(sources, vocabulary ** limit, vocabulary)`, one row a prefix.

    The state holds the source's number and the prefix read as a number, so a state
    that is not carried along with its hypothesis shows.
    """
    _, prefixes, vocabulary = tables.shape
    flat = ops.reshape(ops.convert_to_tensor(tables), (-1, vocabulary))

    def step(token_ids, state, index):
        prefix = state["prefix"] * vocabulary + token_ids
        logits = ops.take(flat, state["source"] * prefixes + prefix, axis=0)
        return logits, {**state, "prefix": prefix}

    return step


def prefix_state(sources):
    sources = np.asarray(sources, "int32")
    return {"source": sources, "prefix": np.zeros_like(sources), "nothing": None}


def random_tables(seed, count, vocabulary=5, limit=5, impossible=0.0):
    """Log-probabilities `(count, vocabulary ** (limit - 1), vocabulary)`."""
    rng = np.random.default_rng(seed)
    shape = (count, vocabulary ** (limit - 1), vocabulary)
    logits = rng.normal(size=shape) * rng.choice([0.5, 1.0, 3.0], size=(count, 1, 1))
    probabilities = np.exp(logits) * (rng.random(shape) >= impossible)
    probabilities /= np.maximum(probabilities.sum(-1, keepdims=True), 1e-30)
    with np.errstate(divide="ignore"):
        return np.log(probabilities).astype("float32")


def penalty(length, alpha):
    return ((5 + length) / 6) ** alpha


def all_finished(table, start=2, limit=5, alpha=0.0):
    """Every hypothesis that ends within the limit: `[(score, log_prob, ids)]`."""
    vocabulary = table.shape[-1]
    found = []
    for length in range(limit - 1):
        tokens = [token for token in range(vocabulary) if token not in (0, 1)]
        for middle in itertools.product(tokens, repeat=length):
            ids = [start, *middle, 1]
            log_prob = log_probability(table, ids)
            found.append((log_prob / penalty(length + 1, alpha), log_prob, ids))
    return sorted(found, reverse=True)


def log_probability(table, ids):
    total, prefix = 0.0, 0
    for token, successor in itertools.pairwise(ids):
        prefix = prefix * table.shape[-1] + token
        total += float(table[prefix, successor])
    return total


def plain_beam_search(table, *, num_beams, alpha, n_best, limit=5, start=2):
    """Beam search without early stopping: `(scores, ids)` of the finished ones."""
    vocabulary = table.shape[-1]
    live, finished = [(0.0, [start])], []
    for length in range(1, limit):
        candidates = []
        for log_prob, ids in live:
            for token in range(1, vocabulary):
                extended = [*ids, token]
                total = log_prob + log_probability_of_last(table, extended)
                if total > -np.inf:
                    candidates.append((total, extended))
        candidates = sorted(candidates, reverse=True)[: 2 * num_beams]
        finished += [
            (total / penalty(length, alpha), ids)
            for total, ids in candidates[:num_beams]
            if ids[-1] == 1
        ]
        live = [item for item in candidates if item[1][-1] != 1][:num_beams]
    return sorted(finished, reverse=True)[:n_best]


def log_probability_of_last(table, ids):
    prefix = 0
    for token in ids[:-1]:
        prefix = prefix * table.shape[-1] + token
    return float(table[prefix, ids[-1]])


def compiled(function, **options):
    """`function` compiled by the backend; PyTorch runs it as it is."""
    if BACKEND == "tensorflow":
        import tensorflow as tf

        return tf.function(function, **options)
    if BACKEND == "jax":
        import jax

        return jax.jit(function)
    return function


def at_each_step(record, *values):
    """Calls `record(*values)` whenever the loop comes by, traced or not."""
    if BACKEND == "jax":
        import jax

        jax.debug.callback(record, *values, ordered=True)
    else:
        record(*values)


def wait_for_records():
    if BACKEND == "jax":
        import jax

        jax.effects_barrier()


def as_numpy(result):
    return type(result)(*(ops.convert_to_numpy(value) for value in result))


def ids_of(result, row=0, place=0):
    """The tokens of one hypothesis, without the padding."""
    length = result.lengths[row, place]
    return result.ids[row, place, : length + 1].tolist()


def assert_same(result, expected):
    """Ids, lengths and flags equal; log-probabilities and scores close."""
    result, expected = as_numpy(result), as_numpy(expected)
    np.testing.assert_array_equal(result.ids, expected.ids)
    np.testing.assert_array_equal(result.lengths, expected.lengths)
    np.testing.assert_array_equal(result.finished, expected.finished)
    np.testing.assert_allclose(result.log_probs, expected.log_probs, atol=1e-5)
    np.testing.assert_allclose(result.scores, expected.scores, atol=1e-5)
