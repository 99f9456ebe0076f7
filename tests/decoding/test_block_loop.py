import pytest
from keras import ops

from keras_transformer.decoding.block_loop import loop_over_positions
from keras_transformer.layers import key_value_cache
from keras_transformer.layers.key_value_cache import begun_blocks
from tests.backends import array_of, compiled

ENDS = [2, 4, 8, 11]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(key_value_cache, "FIRST_BLOCK", 2)
    monkeypatch.setattr(key_value_cache, "GROWTH", 2)


@pytest.mark.parametrize("last", [0, 3, 10])
@pytest.mark.parametrize("in_blocks", [False, True])
def test_each_position_is_visited_once_and_knows_its_blocks(last, in_blocks):
    def run():
        def unfinished(index, visits, begun):
            return index < last

        def body(index, visits, begun):
            here = ops.arange(11, dtype="int32") == index
            count = begun_blocks(index, 1, ENDS) if in_blocks else 0
            visits = visits + ops.cast(here, "int32")
            return index + 1, visits, ops.where(here, count, begun)

        zeros = ops.zeros((11,), "int32")
        start = ops.convert_to_tensor(0, dtype="int32"), zeros, zeros
        return loop_over_positions(unfinished, body, start, 11, in_blocks)

    index, visits, begun = compiled(run)()
    assert int(index) == last
    assert array_of(visits).tolist() == [1] * last + [0] * (11 - last)
    if in_blocks:
        expected = [
            1 + sum(position >= end for end in ENDS[:-1]) for position in range(last)
        ]
        assert array_of(begun)[:last].tolist() == expected


def test_a_step_outside_a_loop_counts_its_blocks():
    count = compiled(lambda i: begun_blocks(i, 1, ENDS) + 0)
    for index in range(11):
        known = begun_blocks(index, 1, ENDS)
        counted = count(ops.convert_to_tensor(index, dtype="int32"))
        assert int(counted) == known == 1 + sum(index >= end for end in ENDS[:-1])
