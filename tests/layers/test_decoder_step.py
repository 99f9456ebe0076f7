import numpy as np
import pytest
from keras import ops

from keras_transformer import DecoderBlock
from tests.backends import array_of, assert_close, randomize

RNG = np.random.default_rng(12)
X = RNG.normal(size=(6, 4, 8)).astype("float32")
MEMORY = RNG.normal(size=(2, 5, 6)).astype("float32")
MEMORY_PADDING = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]], bool)
REPEATED = np.repeat(MEMORY, 3, axis=0), np.repeat(MEMORY_PADDING, 3, axis=0)


def block_of(**options):
    block = DecoderBlock(2, 10, **options)
    block.build(X.shape, *([MEMORY.shape] if "cross_attention" not in options else []))
    return randomize(block)


@pytest.mark.parametrize("options", [{}, {"normalize_first": True}], ids=str)
@pytest.mark.parametrize("sizes", [[1] * 4, [2, 1, 1], [4]], ids=str)
def test_hypotheses_share_rows_of_the_memory(sizes, options):
    block = block_of(**options)
    memory, padding = REPEATED
    expected = block(X, memory, memory_padding_mask=padding)
    cache, index, outputs = block.start(MEMORY, 4, hypotheses=3), 0, []
    assert cache["cross"]["key"][0].shape[0] == 2
    for size in sizes:
        y, cache = block.step(
            X[:, index : index + size], cache, index, hypotheses=3,
            memory_padding_mask=MEMORY_PADDING,
        )  # fmt: skip
        outputs.append(array_of(y))
        index += size
    assert_close(np.concatenate(outputs, axis=1), expected, atol=2e-5)


@pytest.mark.parametrize("new", [1, 2])
def test_scores_of_a_step(new):
    block = block_of()
    memory, padding = REPEATED
    _, own, across = block(
        X, memory, memory_padding_mask=padding, return_attention_scores=True
    )
    cache = block.start(MEMORY, max_length=4, hypotheses=3)
    for index in range(0, 4, new):
        rows = slice(index, index + new)
        _, cache, scores = block.step(
            X[:, rows], cache, index, hypotheses=3, return_attention_scores=True,
            memory_padding_mask=MEMORY_PADDING,
        )  # fmt: skip
        assert_close(scores[0], array_of(own)[:, :, rows])
        assert_close(scores[1], array_of(across)[:, :, rows])


def test_without_memory():
    block = block_of(cross_attention=False)
    cache = block.start(max_length=4, batch_size=6)
    assert set(cache) == {"self"}
    outputs = []
    for index in range(4):
        y, cache, scores = block.step(
            X[:, index : index + 1], cache, index, return_attention_scores=True
        )
        outputs.append(array_of(y))
        assert len(scores) == 1
    assert_close(np.concatenate(outputs, axis=1), block(X), atol=2e-5)


def test_start_makes_an_empty_cache_in_the_compute_dtype():
    block = DecoderBlock(2, 10, dtype="mixed_bfloat16")
    block.build(X.shape, MEMORY.shape)
    cache = block.start(MEMORY, max_length=4)
    assert cache["self"]["key"][0].shape == (2, 2, 4, 4)
    for (part,) in (*cache["self"].values(), *cache["cross"].values()):
        assert "bfloat16" in str(part.dtype)
    assert not array_of(cache["self"]["key"][0]).any()
    y, cache = block.step(X[:2, :1], cache, 0)
    assert "bfloat16" in str(y.dtype)
    expected = array_of(block(X[:2, :1], MEMORY))
    assert_close(y, expected, atol=4e-2)


def test_a_step_leaves_the_old_cache_alone():
    block = block_of()
    cache = block.start(MEMORY, max_length=4)
    before = array_of(cache["self"]["key"][0]).copy()
    _, after = block.step(X[:2, :1], cache, 1)
    np.testing.assert_array_equal(array_of(cache["self"]["key"][0]), before)
    written = array_of(after["self"]["key"][0])
    assert written[..., 1].any()
    assert not written[..., [0, 2, 3]].any()


def test_later_slots_are_not_seen():
    block = block_of()
    cache = block.start(MEMORY, max_length=4)
    dirty = {
        name: [ops.convert_to_tensor(np.full(part.shape, 7.0, "float32"))]
        for name, (part,) in cache["self"].items()
    }
    expected, _ = block.step(X[:2, :2], cache, 0)
    found, _ = block.step(X[:2, :2], {**cache, "self": dirty}, 0)
    assert_close(found, expected)


@pytest.mark.parametrize(("rows", "hypotheses"), [(5, 3), (2, 3), (2, 2)])
def test_another_number_of_rows_is_named(rows, hypotheses):
    block = block_of()
    cache = block.start(MEMORY, 12, hypotheses=3)
    error = (
        f"2 sources takes {2 * hypotheses} rows with .*{hypotheses}. Received: {rows}"
    )
    with pytest.raises(ValueError, match=error):
        block.step(X[:rows, :1], cache, 0, hypotheses=hypotheses)


def test_hypotheses_must_be_a_number():
    with pytest.raises(ValueError, match=r"`hypotheses` must be .*: 0"):
        block_of().start(MEMORY, 4, hypotheses=0)
