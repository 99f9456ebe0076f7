"""Hypotheses that share a cache attend to their own line of ancestors."""

from contextlib import nullcontext

import numpy as np
import pytest
from keras import ops

from keras_transformer import DecoderBlock
from keras_transformer.layers import key_value_cache
from keras_transformer.layers.lineage import (
    own_line,
    visible_slots,
    written_by_oneself,
)
from keras_transformer.layers.plain_graph import plain_graph
from tests.backends import array_of, assert_close, compiled, randomize
from tests.layers.positions import Distance, Rotation

RNG = np.random.default_rng(21)
SOURCES, HYPOTHESES, LENGTH = 2, 3, 7
ROWS = SOURCES * HYPOTHESES
MEMORY = RNG.normal(size=(SOURCES, 5, 6)).astype("float32")
NEW = RNG.normal(size=(LENGTH, ROWS, 1, 8)).astype("float32")
PARENTS = RNG.integers(0, HYPOTHESES, (LENGTH, SOURCES, HYPOTHESES))
OPTIONS = [
    {},
    {"num_key_value_heads": 1, "normalize_first": True},
    {"position": Rotation(0.4)},
    {"position": Distance(0.7)},
]


def rows_of(parents):
    return (parents + HYPOTHESES * np.arange(SOURCES)[:, None]).reshape(-1)


def block_of(**options):
    block = DecoderBlock(2, 10, **options)
    block.build((None, None, 8), MEMORY.shape)
    return randomize(block)


def whole_passes(block):
    """What each hypothesis gets for its last position, from its whole sequence."""
    sequences = np.zeros((ROWS, 0, 8), "float32")
    for new, parents in zip(NEW, PARENTS, strict=True):
        if sequences.shape[1]:
            sequences = sequences[rows_of(parents)]
        sequences = np.concatenate([sequences, new], axis=1)
        yield array_of(block(sequences, np.repeat(MEMORY, HYPOTHESES, axis=0)))[:, -1:]


@pytest.fixture(params=[48, 2], ids=["one block", "blocks"])
def first_block(request, monkeypatch):
    monkeypatch.setattr(key_value_cache, "FIRST_BLOCK", request.param)
    monkeypatch.setattr(key_value_cache, "GROWTH", 2)
    return request.param


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("in_graph", [False, True])
def test_steps_over_a_tree_equal_whole_passes(options, in_graph, first_block):
    block = block_of(**options)

    def step(x, cache, index, lineage):
        lineage = written_by_oneself(lineage, index, HYPOTHESES)
        y, cache = block.step(x, cache, index, hypotheses=HYPOTHESES, lineage=lineage)
        return y, cache, lineage

    step = compiled(step) if in_graph else step
    cache = block.start(MEMORY, LENGTH, hypotheses=HYPOTHESES)
    assert len(cache["self"]["key"]) == (1 if first_block == 48 else 3)
    lineage = own_line(ROWS, LENGTH, HYPOTHESES)
    for index, expected in enumerate(whole_passes(block)):
        if index:
            lineage = ops.take(lineage, rows_of(PARENTS[index]), axis=0)
        place = ops.convert_to_tensor(index) if in_graph else index
        y, cache, lineage = step(NEW[index], cache, place, lineage)
        assert_close(y, expected, atol=2e-5)


@pytest.mark.parametrize("sizes", [[1] * 7, [3, 1, 1, 1, 1], [7], [1, 4, 2]], ids=str)
@pytest.mark.parametrize("plain", [False, True])
def test_writing_across_blocks(sizes, plain, monkeypatch):
    monkeypatch.setattr(key_value_cache, "FIRST_BLOCK", 2)
    monkeypatch.setattr(key_value_cache, "GROWTH", 2)
    block = block_of()
    x = RNG.normal(size=(SOURCES, 7, 8)).astype("float32")
    expected = block(x, MEMORY)
    with plain_graph() if plain else nullcontext():
        cache, index, outputs = block.start(MEMORY, 7), 0, []
        assert [part.shape[3] for part in cache["self"]["key"]] == [2, 2, 3]
        for size in sizes:
            place = ops.convert_to_tensor(index) if size == 1 else index
            y, cache = block.step(x[:, index : index + size], cache, place)
            outputs.append(array_of(y))
            index += size
    assert_close(np.concatenate(outputs, axis=1), expected, atol=2e-5)


def test_blocks_grow():
    assert key_value_cache.block_ends(20) == [20]
    assert key_value_cache.block_ends(48) == [48]
    assert key_value_cache.block_ends(49) == [48, 49]
    assert key_value_cache.block_ends(300) == [48, 192, 300]


def test_visible_slots_of_a_small_tree():
    lineage = np.array([[0, 0, 9], [0, 1, 9]], "int32")  # 9: not written yet
    visible = array_of(visible_slots(ops.convert_to_tensor(lineage), 1, 1, 2))
    assert visible.shape == (1, 1, 2, 6)
    #                          position 0, 1, 2 with the slots of both hypotheses
    assert visible[0, 0].astype(int).tolist() == [
        [1, 0, 1, 0, 0, 0],
        [1, 0, 0, 1, 0, 0],
    ]


def test_padding_is_not_seen():
    lineage = own_line(2, 3, 2)
    padding = np.array([[0, 1, 1], [1, 1, 1]], bool)
    visible = array_of(visible_slots(lineage, 2, 1, 2, padding))
    assert visible[0, 0].astype(int).tolist() == [
        [0, 0, 1, 0, 1, 0],
        [0, 1, 0, 1, 0, 1],
    ]
