import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from keras_transformer.attention import (
    KERNELS,
    attend_by_head,
    dot_product_attention,
)
from tests.attention.formulas import attention
from tests.backends import BACKEND, array_of, assert_close, compiled, gradients

RNG = np.random.default_rng(5)
# batch 2, query 3, key 5, heads 4, head_dim 6, value_dim 7: no two axes alike.
QUERY = RNG.normal(size=(2, 3, 4, 6)).astype("float32")
KEY = RNG.normal(size=(2, 5, 4, 6)).astype("float32")
VALUE = RNG.normal(size=(2, 5, 4, 7)).astype("float32")
MASK = RNG.random((2, 4, 3, 5)) > 0.4
BIAS = RNG.normal(size=(4, 3, 5)).astype("float32")
CASES = {
    "plain": {},
    "mask": {"mask": MASK},
    "mask of keys": {"mask": MASK[:, :1, :1]},
    "mask of queries": {"mask": MASK[:, :1, :, :1]},
    "bias": {"bias": BIAS},
    "mask and bias": {"mask": MASK, "bias": BIAS},
    "scale": {"scale": 0.3},
}


@pytest.mark.parametrize("value_dim", [6, 7])
@pytest.mark.parametrize("case", CASES)
def test_formula(case, value_dim):
    value = VALUE[..., :value_dim]
    context, scores = attention(QUERY, KEY, value, **CASES[case])
    options = {
        name: ops.convert_to_tensor(x) if isinstance(x, np.ndarray) else x
        for name, x in CASES[case].items()
    }
    tensors = [ops.convert_to_tensor(x) for x in (QUERY, KEY, value)]
    plain = dot_product_attention(*tensors, **options)
    with_scores = dot_product_attention(*tensors, **options, return_scores=True)
    assert_close(plain, context)
    assert_close(with_scores[0], context)
    assert_close(with_scores[1], scores)


@pytest.mark.parametrize("sizes", [[5], [2, 3], [1, 1, 3]], ids=str)
def test_keys_and_values_in_blocks(sizes):
    context, scores = attention(QUERY, KEY, VALUE, mask=MASK, bias=BIAS)
    query = np.transpose(QUERY, (0, 2, 1, 3)) / np.sqrt(6).astype("float32")
    ends = np.cumsum(sizes)[:-1]
    key = np.split(np.transpose(KEY, (0, 2, 3, 1)), ends, axis=3)
    value = np.split(np.transpose(VALUE, (0, 2, 1, 3)), ends, axis=2)
    found = attend_by_head(
        ops.convert_to_tensor(query),
        [ops.convert_to_tensor(block) for block in key],
        [ops.convert_to_tensor(block) for block in value],
        mask=ops.convert_to_tensor(MASK),
        bias=ops.convert_to_tensor(BIAS),
    )
    assert_close(np.transpose(array_of(found[0]), (0, 2, 1, 3)), context)
    assert_close(found[1], scores)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_softmax_of_half_precision_runs_in_float32(dtype):
    query = ops.cast(QUERY, dtype)
    context, scores = dot_product_attention(
        query, ops.cast(KEY, dtype), ops.cast(VALUE, dtype), return_scores=True
    )
    for x in (context, scores):
        assert keras.backend.standardize_dtype(x.dtype) == dtype
    expected = attention(*(array_of(ops.cast(x, dtype)) for x in (QUERY, KEY, VALUE)))
    tolerance = 4e-3 if dtype == "float16" else 4e-2
    assert_close(context, expected[0], atol=tolerance)
    assert_close(scores, expected[1], atol=tolerance)


def test_scale_comes_before_the_product():
    """60 * 60 * 64 is past the range of float16, an eighth of it is not."""
    query = ops.cast(np.full((1, 1, 1, 64), 60.0), "float16")
    key = ops.cast(np.full((1, 2, 1, 64), 60.0), "float16")
    context = dot_product_attention(query, key, key, mask=np.ones((1, 1, 1, 2), bool))
    assert_close(context, np.full((1, 1, 1, 64), 60.0))


@pytest.mark.parametrize("masked", [False, True])
def test_gradient_equals_finite_differences(masked):
    mask = ops.convert_to_tensor(MASK) if masked else None
    along = RNG.normal(size=(2, 3, 4, 6))

    def loss(query, key, value):
        context = dot_product_attention(query, key, value, mask=mask)
        return ops.sum(context * ops.convert_to_tensor(along.astype("float32")))

    def exact(*arrays):
        return np.sum(attention(*arrays, mask=MASK if masked else None)[0] * along)

    arrays = QUERY, KEY, VALUE[..., :6]
    for number, gradient in enumerate(gradients(loss, *arrays)):
        for place in ((0, 0, 0, 0), (1, 2, 3, 5), (1, 1, 2, 4)):
            above, below = ([x.astype("float64") for x in arrays] for _ in range(2))
            above[number][place] += 1e-5
            below[number][place] -= 1e-5
            slope = (exact(*above) - exact(*below)) / 2e-5
            assert gradient[place] == pytest.approx(slope, abs=1e-4)


def test_dropout_drops_scores_and_returns_them_whole():
    ones = ops.ones((1, 40, 2, 4))
    context, scores = dot_product_attention(
        ones, ones, ones, dropout=0.5, seed=1, return_scores=True
    )
    assert_close(scores, np.full((1, 2, 40, 40), 1 / 40))
    sums = array_of(context)
    assert sums.std() > 0.01
    assert sums.mean() == pytest.approx(1.0, abs=0.1)


def test_dropout_is_seeded():
    tensors = [ops.convert_to_tensor(x) for x in (QUERY, KEY, VALUE)]
    first = dot_product_attention(*tensors, dropout=0.5, seed=1)
    assert_close(dot_product_attention(*tensors, dropout=0.5, seed=1), first)
    other = array_of(dot_product_attention(*tensors, dropout=0.5, seed=2))
    assert np.abs(other - array_of(first)).max() > 0.01


@pytest.mark.parametrize("keys", [1, 2])
@pytest.mark.parametrize("allowed", [False, True])
def test_few_keys(keys, allowed):
    tensors = [ops.convert_to_tensor(x[:, :keys]) for x in (QUERY, KEY, VALUE)]
    mask = np.full((1, 1, 1, keys), allowed)
    context, scores = dot_product_attention(
        *tensors, mask=ops.convert_to_tensor(mask), return_scores=True
    )
    expected = attention(*(x[:, :keys] for x in (QUERY, KEY, VALUE)), mask=mask)
    assert_close(context, expected[0])
    assert_close(scores, expected[1])


@given(st.integers(0, 1000))
@settings(max_examples=10)
def test_order_of_keys_does_not_matter(seed):
    order = np.random.default_rng(seed).permutation(5)
    tensors = [ops.convert_to_tensor(x) for x in (QUERY, KEY, VALUE)]
    moved = [ops.convert_to_tensor(x[:, order]) for x in (KEY, VALUE)]
    expected = dot_product_attention(*tensors, mask=ops.convert_to_tensor(MASK))
    mask = ops.convert_to_tensor(MASK[..., order])
    assert_close(dot_product_attention(tensors[0], *moved, mask=mask), expected)


@pytest.mark.skipif(BACKEND == "torch", reason="PyTorch compiles nothing here")
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_compiled_equals_eager(dtype):
    tensors = [ops.cast(x, dtype) for x in (QUERY, KEY, VALUE[..., :6])]
    mask = ops.convert_to_tensor(MASK)
    options = {"jit_compile": True} if BACKEND == "tensorflow" else {}
    in_graph = compiled(lambda *x: dot_product_attention(*x, mask=mask), **options)(
        *tensors
    )
    tolerance = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}[dtype]
    assert_close(in_graph, dot_product_attention(*tensors, mask=mask), atol=tolerance)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("causal", [False, True])
def test_equals_torch(kernel, causal):
    """The function that PyTorch calls scaled_dot_product_attention."""
    torch = pytest.importorskip("torch")
    if kernel == "linear":
        pytest.skip("is another function")
    length = 200  # more than a block
    query, key, value = (
        RNG.normal(size=(2, length, 4, 6)).astype("float32") for _ in range(3)
    )
    bias = RNG.normal(size=(2, 4, length, length)).astype("float32")
    theirs = [
        torch.tensor(x, device="cpu").transpose(1, 2) for x in (query, key, value)
    ]
    add = torch.tensor(bias)
    if causal:
        ahead = torch.ones(length, length, dtype=torch.bool).triu(1)
        add = add.masked_fill(ahead, -torch.inf)
    expected = torch.nn.functional.scaled_dot_product_attention(*theirs, attn_mask=add)
    tensors = [ops.convert_to_tensor(x) for x in (query, key, value)]
    found = KERNELS[kernel](*tensors, bias=ops.convert_to_tensor(bias), causal=causal)
    assert_close(found, expected.transpose(1, 2).numpy())
