"""Which block of a cache is written, and how."""

import numpy as np
import pytest
from keras import ops

from keras_transformer import DecoderBlock
from keras_transformer.layers import key_value_cache
from keras_transformer.layers.key_value_cache import block_ends
from keras_transformer.layers.known_values import known_range, promised_range
from keras_transformer.layers.plain_graph import plain_graph
from tests.backends import BACKEND, array_of, assert_close, compiled, randomize

RNG = np.random.default_rng(2)
LENGTH = 7
X = RNG.normal(size=(2, LENGTH, 8)).astype("float32")
MEMORY = RNG.normal(size=(2, 3, 8)).astype("float32")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(key_value_cache, "FIRST_BLOCK", 2)
    monkeypatch.setattr(key_value_cache, "GROWTH", 2)


def choose(written):
    """An update by NumPy-like operations, which notes what it is given."""

    def update(block, rows, place, axis):
        written.append(block.shape[axis])
        slots = ops.arange(block.shape[axis], dtype="int32")
        hit = ops.equal(slots, place)
        return ops.where(hit if axis == 3 else hit[:, None], rows, block)

    return update


@pytest.mark.parametrize("plain", [False, True])
def test_a_step_of_a_known_block_writes_no_other(plain):
    block = DecoderBlock(2, 16)
    block(X, MEMORY)
    randomize(block, scale=0.5)
    ends, written = block_ends(LENGTH), []
    assert ends == [2, 4, 7]

    def step_of(first, end):
        def step(x, cache, index):
            with promised_range(index, first, end - 1):
                lowest, highest = known_range(index)
                assert first <= lowest <= highest < end
                return block.step(x, cache, index)

        return compiled(step)

    cache, outputs = block.start(MEMORY, LENGTH), []
    steps = {end: step_of(first, end) for first, end in ((0, 2), (2, 4), (4, 7))}
    for index in range(LENGTH):
        step = steps[min(end for end in ends if end > index)]
        place = ops.convert_to_tensor(index, dtype="int32")
        if plain:
            with plain_graph(choose(written)):
                y, cache = step(X[:, index : index + 1], cache, place)
        else:
            y, cache = step(X[:, index : index + 1], cache, place)
        outputs.append(array_of(y))
    assert_close(np.concatenate(outputs, axis=1), block(X, MEMORY), atol=2e-5)
    if plain:  # a key and a value for each time that a step is traced, or run
        sizes = [written[place : place + 2] for place in range(0, len(written), 2)]
        assert {tuple(pair) for pair in sizes} == {(2, 2), (3, 3)}


def test_a_range_that_crosses_blocks_is_written_where_it_lands():
    block = DecoderBlock(2, 16)
    block(X, MEMORY)
    randomize(block, scale=0.5)

    def run(x):
        cache, outputs = block.start(MEMORY, LENGTH), []
        for number in range(LENGTH):
            index = ops.convert_to_tensor(number, dtype="int32") + 0 * ops.cast(
                ops.sum(x), "int32"
            )
            with promised_range(index, 1 if number else 0, LENGTH - 1):
                y, cache = block.step(x[:, number : number + 1], cache, index)
            outputs.append(y)
        return ops.concatenate(outputs, axis=1)

    assert_close(compiled(run)(X), block(X, MEMORY), atol=2e-5)


@pytest.mark.skipif(BACKEND == "torch", reason="every value is known there")
def test_what_is_promised_of_one_index_says_nothing_of_another():
    def run(index):
        with promised_range(index, 2, 3):
            assert known_range(index) == (2, 3)
            assert known_range(index + 0) == (None, None)
        assert known_range(index) == (None, None)
        return index

    compiled(run)(ops.convert_to_tensor(3, dtype="int32"))
    assert known_range(5) == (5, 5)
