import numpy as np
import pytest
from keras import ops

from keras_transformer import DecoderBlock, GreedySearch
from keras_transformer.decoding import SplitState
from keras_transformer.decoding.block_loop import loop_over_positions
from keras_transformer.layers import key_value_cache
from keras_transformer.layers.key_value_cache import begun_blocks
from tests.backends import array_of, compiled, randomize

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
            assert isinstance(count, int)
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


def test_a_step_may_stand_further_on_in_its_cache():
    """A prefix is in the cache: its positions are not those of the search."""
    random = np.random.default_rng(5)
    table, prefix = random.normal(size=(12, 8)), random.normal(size=(1, 5, 8))
    table, prefix = table.astype("float32"), prefix.astype("float32")
    block = DecoderBlock(2, 16, cross_attention=False)
    block(prefix)
    randomize(block, scale=0.5)

    def search(prefix):
        cache = block.start(max_length=11, batch_size=1)
        assert [part.shape[3] for part in cache["self"]["key"]] == [2, 2, 4, 3]
        _, cache = block.step(prefix, cache, 0)

        def step(token_ids, state, index):
            x = ops.take(table, token_ids, axis=0)[:, None]
            x, cache = block.step(x, state.kept, index + 5)
            return ops.matmul(x[:, 0], ops.transpose(table)), SplitState((), cache)

        state, options = SplitState((), cache), {"max_length": 6}
        result = GreedySearch(min_length=5)(step, state, np.array([2]), **options)
        return result.ids, result.log_probs

    ids, log_prob = (array_of(part) for part in compiled(search)(prefix))
    tokens, expected = [2], 0.0
    while len(tokens) < 6:
        x = np.concatenate([prefix, table[tokens][None]], axis=1)
        logits = array_of(block(x))[0, -1] @ table.T
        allowed = np.where(np.isin(np.arange(12), [0, 1]), -np.inf, logits)
        tokens.append(int(allowed.argmax()))
        expected += logits[tokens[-1]] - np.log(np.exp(logits).sum())
    assert ids[0, 0].tolist() == tokens
    assert log_prob[0, 0] == pytest.approx(expected, abs=1e-4)
