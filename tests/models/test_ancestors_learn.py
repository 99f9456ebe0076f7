"""The recurrent and the convolutional model learn to reverse sequences."""

import keras
import numpy as np
import pytest

from keras_transformer import ConvolutionalSeq2Seq, RecurrentSeq2Seq
from keras_transformer.decoding import GreedySearch, SequenceGenerator
from keras_transformer.training import SmoothedCrossEntropy
from tests.backends import BACKEND, array_of

PAD, END, START, FIRST, SYMBOLS, LONGEST = 0, 1, 2, 3, 6, 4


def reversed_pairs(number=24):
    """Sources, and targets that begin with START and end with END, padded."""
    rng = np.random.default_rng(16)
    source = np.zeros((number, LONGEST + 1), "int32")
    target = np.zeros((number, LONGEST + 2), "int32")
    for row in range(number):
        words = rng.integers(FIRST, FIRST + SYMBOLS, size=rng.integers(2, LONGEST + 1))
        source[row, : len(words) + 1] = [*words, END]
        target[row, : len(words) + 2] = [START, *words[::-1], END]
    return source, target


@pytest.mark.parametrize(
    ("kind", "options", "rate", "epochs"),
    [
        (RecurrentSeq2Seq, {"cell": "gru", "num_layers": 1}, 1e-2, 60),
        (ConvolutionalSeq2Seq, {"num_layers": 2}, 5e-3, 150),
    ],
)
def test_every_sequence_is_reversed(kind, options, rate, epochs):
    model = kind(FIRST + SYMBOLS, hidden_dim=32, dropout=0.0, **options)
    model.compile(
        keras.optimizers.Adam(rate), SmoothedCrossEntropy(),
        jit_compile=BACKEND == "jax",
    )  # fmt: skip
    source, target = reversed_pairs()
    inputs = {"source_ids": source, "target_ids": target[:, :-1]}
    model.fit(inputs, target[:, 1:], batch_size=24, epochs=epochs, verbose=0)
    generator = SequenceGenerator(model, GreedySearch(), max_length=LONGEST + 2)
    found = array_of(generator(source)["ids"])[:, 0]
    assert (found == target).all(axis=1).mean() == 1.0
    others = array_of(generator(np.roll(source, 1, axis=0))["ids"])[:, 0]
    assert (others == np.roll(target, 1, axis=0)).all()
