"""O16: a small model learns to reverse sequences, and decodes them for real."""

import keras
import numpy as np
import pytest

from keras_transformer import SmoothedCrossEntropy, Transformer
from keras_transformer.decoding import GreedySearch
from tests.backends import BACKEND, array_of

PAD, END, START, FIRST, SYMBOLS, LONGEST = 0, 1, 2, 3, 16, 8


def reversed_pairs(number=64):
    """Sources, and targets that begin with START and end with END, padded."""
    rng = np.random.default_rng(16)
    source = np.zeros((number, LONGEST + 1), "int32")
    target = np.zeros((number, LONGEST + 2), "int32")
    for row in range(number):
        words = rng.integers(FIRST, FIRST + SYMBOLS, size=rng.integers(3, 9))
        source[row, : len(words) + 1] = [*words, END]
        target[row, : len(words) + 2] = [START, *words[::-1], END]
    return source, target


def trained(source, target, epochs):
    keras.utils.set_random_seed(0)
    model = Transformer(
        FIRST + SYMBOLS, num_layers=1, hidden_dim=32, num_heads=2,
        intermediate_dim=64, dropout=0.0,
    )  # fmt: skip
    model.compile(
        keras.optimizers.Adam(5e-3), SmoothedCrossEntropy(),
        jit_compile=BACKEND == "jax",
    )  # fmt: skip
    inputs = {"source_ids": source, "target_ids": target[:, :-1]}
    model.fit(inputs, target[:, 1:], batch_size=64, epochs=epochs, verbose=0)
    return model


def decode(model, source, max_length=LONGEST + 2):
    """Greedy decoding through `start` and `step`."""
    state, shared = model.start(source, max_length)

    def step(token_ids, state, index):
        return model.step(token_ids, state, index, shared)

    start = np.full(len(source), START, "int32")
    return GreedySearch()(step, state, start, max_length=max_length)


def exact(result, target):
    return (array_of(result.ids)[:, 0] == target).all(axis=1).mean()


@pytest.fixture(scope="module")
def reverser():
    source, target = reversed_pairs()
    return trained(source, target, epochs=200), source, target


def test_every_sequence_is_reversed(reverser):
    model, source, target = reverser
    result = decode(model, source)
    assert exact(result, target) == 1.0
    assert array_of(result.finished).all()


def test_other_sources_give_other_targets(reverser):
    model, source, target = reverser
    shuffled = np.roll(source, 1, axis=0)
    assert exact(decode(model, shuffled), target) <= 0.1
    assert exact(decode(model, shuffled), np.roll(target, 1, axis=0)) == 1.0


def test_rows_decode_the_same_alone(reverser):
    model, source, target = reverser
    for row in (0, 1):
        length = np.count_nonzero(source[row])
        result = decode(model, source[row : row + 1, :length])
        assert exact(result, target[row : row + 1]) == 1.0


def test_a_model_that_never_ends_stops_at_the_limit_and_says_so(reverser):
    model, source, _ = reverser
    without_end = np.where(source == END, PAD, source)
    table = array_of(model.parts.output_embedding.embeddings).copy()
    try:
        # The end's row turned round: its logit is low wherever it was the highest.
        model.parts.output_embedding.embeddings.assign(
            np.where(np.arange(len(table))[:, None] == END, -table, table)
        )
        result = decode(model, without_end, max_length=6)
    finally:
        model.parts.output_embedding.embeddings.assign(table)
    assert array_of(result.ids).shape == (len(source), 1, 6)
    assert not (array_of(result.ids) == END).any()
    assert not array_of(result.finished).any()
