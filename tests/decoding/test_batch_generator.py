"""Many batches through one search, several at a time."""

import numpy as np
import pytest

from keras_transformer import GreedySearch, Sampling, Transformer
from keras_transformer.decoding import BatchGenerator, SequenceGenerator
from tests.backends import BACKEND

RNG = np.random.default_rng(4)
BATCHES = [
    RNG.integers(3, 20, (2, width)).astype("int32") for width in (16, 16, 8, 16, 8, 16)
]


@pytest.fixture(scope="module")
def model():
    return Transformer(
        20, num_layers=1, hidden_dim=8, num_heads=2, intermediate_dim=8, seed=1
    )


@pytest.mark.parametrize("workers", [1, 3] if BACKEND == "tensorflow" else [1])
def test_results_come_in_order(model, workers):
    generator = BatchGenerator(model, GreedySearch(), 12, workers=workers)
    single = SequenceGenerator(model, GreedySearch(), 12)
    for _ in range(2):  # the second time all is compiled
        results = list(generator(iter(BATCHES)))
        assert len(results) == len(BATCHES)
        for batch, result in zip(BATCHES, results, strict=True):
            expected = single.predict_on_batch(batch)["ids"]
            np.testing.assert_array_equal(result["ids"], expected)


def test_no_more_batches_are_read_than_are_worked_on(model):
    read = []

    def batches():
        for number in range(20):
            read.append(number)
            yield BATCHES[0]

    results = BatchGenerator(model, GreedySearch(), 12)(batches())
    next(results)
    assert len(read) == 1
    next(results)
    assert len(read) <= 5
    results.close()
    assert len(read) <= 5


def test_an_error_is_raised_and_the_next_run_works(model):
    generator = BatchGenerator(model, GreedySearch(), 12)

    def batches():
        yield BATCHES[0]
        yield BATCHES[1]
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        list(generator(batches()))
    assert len(list(generator(BATCHES[:2]))) == 2


def test_workers():
    assert BatchGenerator(None, Sampling(), 12).workers == 1
    if BACKEND != "tensorflow":
        assert BatchGenerator(None, GreedySearch(), 12).workers == 1
        with pytest.raises(ValueError, match=r"`workers` must be 1 on .*: 2"):
            BatchGenerator(None, GreedySearch(), 12, workers=2)
    with pytest.raises(ValueError, match=r"`workers` must be .*-1"):
        BatchGenerator(None, GreedySearch(), 12, workers=-1)
