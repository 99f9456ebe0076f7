"""O10: decoding with a cache equals decoding without, or is stopped."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import DecoderBlock
from tests.backends import BACKEND, array_of, assert_close, compiled, randomize

RNG = np.random.default_rng(10)
TARGET = RNG.normal(size=(2, 7, 16)).astype("float32")
MEMORY = RNG.normal(size=(2, 5, 16)).astype("float32")
SOURCE_MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]], bool)
LEFT = np.array([[0, 0, 1, 1, 1, 1, 1]] * 2, bool)


def block_of(**options):
    block = DecoderBlock(4, 24, **options)
    block.build(TARGET.shape, MEMORY.shape)
    return randomize(block)


def decode(block, sizes, **options):
    """Step through TARGET in pieces of the given sizes."""
    cache, index, outputs = block.start(MEMORY, max_length=7), 0, []
    for size in sizes:
        y, cache = block.step(
            TARGET[:, index : index + size], cache, index,
            memory_padding_mask=SOURCE_MASK, **options,
        )  # fmt: skip
        outputs.append(array_of(y))
        index += size
    return np.concatenate(outputs, axis=1)


@pytest.mark.parametrize("normalize_first", [False, True])
@pytest.mark.parametrize("sizes", [[1] * 7, [3, 1, 1, 1, 1], [7], [2, 3, 2]], ids=str)
def test_cached_equals_uncached(sizes, normalize_first):
    block = block_of(normalize_first=normalize_first)
    expected = block(TARGET, MEMORY, memory_padding_mask=SOURCE_MASK)
    assert_close(decode(block, sizes), expected)


@pytest.mark.parametrize("sizes", [[1] * 7, [3, 1, 1, 1, 1]], ids=str)
def test_left_padding(sizes):
    block = block_of()
    expected = array_of(
        block(TARGET, MEMORY, padding_mask=LEFT, memory_padding_mask=SOURCE_MASK)
    )
    found = decode(block, sizes, padding_mask=LEFT)
    assert_close(found[:, 2:], expected[:, 2:])
    unpadded = block(TARGET[:, 2:], MEMORY, memory_padding_mask=SOURCE_MASK)
    assert_close(found[:, 2:], unpadded)


@pytest.mark.parametrize("index", [4, 6, -1, ops.convert_to_tensor(6)], ids=str)
def test_known_overflow_is_refused(index):
    block = block_of()
    cache = block.start(MEMORY, max_length=4)
    error = r"room for 1 new positions in a cache of `max_length`=4. Received: index="
    with pytest.raises(ValueError, match=error):
        block.step(TARGET[:, :1], cache, index)


def test_prefill_longer_than_the_cache_is_refused():
    block = block_of()
    with pytest.raises(ValueError, match=r"room for 7 new .*`max_length`=4"):
        block.step(TARGET, block.start(MEMORY, max_length=4), 0)


def overflowing(index, **options):
    block = block_of()
    cache = block.start(MEMORY, max_length=4)
    step = compiled(lambda i: block.step(TARGET[:, :1], cache, i), **options)
    y, after = step(ops.convert_to_tensor(index))
    return array_of(y), after["self"]


@pytest.mark.tensorflow_only
@pytest.mark.parametrize("index", [4, 6, -1])
def test_overflow_stops_a_tensorflow_graph(index):
    import tensorflow as tf

    with pytest.raises(tf.errors.InvalidArgumentError, match="not in"):
        overflowing(index)


@pytest.mark.skipif(BACKEND == "torch", reason="PyTorch compiles nothing here")
@pytest.mark.parametrize("index", [4, 6, -1])
def test_overflow_is_nan_under_xla_and_hits_no_slot(index):
    y, stored = overflowing(index, **({"jit_compile": True} if tf_backend() else {}))
    assert np.isnan(y).all()
    np.testing.assert_array_equal(array_of(stored["key"][0]), 0.0)
    np.testing.assert_array_equal(array_of(stored["value"][0]), 0.0)


def tf_backend():
    return keras.backend.backend() == "tensorflow"


def test_compiled_step_equals_eager():
    block = block_of()

    def step(x, i, cache):
        return block.step(x, cache, i, memory_padding_mask=SOURCE_MASK)

    in_graph, cache, outputs = compiled(step), block.start(MEMORY, max_length=7), []
    for i in range(7):
        y, cache = in_graph(TARGET[:, i : i + 1], ops.convert_to_tensor(i), cache)
        outputs.append(array_of(y))
    expected = block(TARGET, MEMORY, memory_padding_mask=SOURCE_MASK)
    assert_close(np.concatenate(outputs, axis=1), expected)
