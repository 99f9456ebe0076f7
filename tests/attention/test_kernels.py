"""What every attention function promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from keras_transformer.attention import KERNELS, blockwise, linear_sums
from tests.attention.formulas import visible
from tests.backends import array_of, assert_close, gradients

each_kernel = pytest.mark.parametrize("name", KERNELS)
LENGTH = 11


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blockwise, "BLOCK", 4)
        patch.setattr(linear_sums, "CHUNK", 4)
        yield


def case_of(seed):
    rng = np.random.default_rng(seed)
    shapes = ((2, LENGTH, 2, width) for width in (4, 4, 5))
    return rng, [rng.normal(size=shape).astype("float32") for shape in shapes]


def attend(name, inputs, mask=None, **options):
    mask = None if mask is None else ops.convert_to_tensor(mask)
    tensors = [ops.convert_to_tensor(x) for x in inputs]
    return array_of(KERNELS[name](*tensors, mask=mask, **options))


@each_kernel
@given(seed=st.integers(0, 10_000))
@settings(max_examples=8)
def test_order_moves_along(name, seed):
    rng, inputs = case_of(seed)
    mask, order = rng.random((2, 1, 1, LENGTH)) > 0.3, rng.permutation(LENGTH)
    expected = attend(name, inputs, mask)[:, order]
    assert_close(
        attend(name, [x[:, order] for x in inputs], mask[..., order]), expected
    )


@each_kernel
@given(seed=st.integers(0, 10_000), place=st.integers(1, LENGTH - 1))
@settings(max_examples=5)
def test_a_causal_kernel_does_not_see_the_future(name, seed, place):
    rng, inputs = case_of(seed)
    changed = [x.copy() for x in inputs]
    for x in changed:
        x[:, place:] = rng.normal(size=x[:, place:].shape) * 3
    before, after = (attend(name, x, causal=True) for x in (inputs, changed))
    assert_close(after[:, :place], before[:, :place])
    assert np.abs(after[:, place:] - before[:, place:]).max() > 1e-3


@each_kernel
@pytest.mark.parametrize("causal", [False, True])
@given(seed=st.integers(0, 10_000), padding=st.sampled_from([1, 5]))
@settings(max_examples=4)
def test_padding_does_not_matter(name, causal, seed, padding):
    rng, inputs = case_of(seed)
    expected = attend(name, inputs, causal=causal)
    padded = [
        np.concatenate([x, rng.normal(size=x[:, :padding].shape)], axis=1)
        for x in inputs
    ]
    mask = (np.arange(LENGTH + padding) < LENGTH)[None, None, None]
    found = attend(name, [x.astype("float32") for x in padded], mask, causal=causal)
    assert_close(found[:, :LENGTH], expected)


@each_kernel
@given(
    seed=st.integers(0, 10_000),
    window=st.sampled_from([1, 2, 4, 30]),
    causal=st.booleans(),
)
@settings(max_examples=8)
def test_a_window_is_a_mask(name, seed, window, causal):
    rng, inputs = case_of(seed)
    keys = rng.random((2, 1, 1, LENGTH)) > 0.3
    band = visible(LENGTH, LENGTH, causal, window) & keys
    expected = attend(name, inputs, band)
    assert_close(attend(name, inputs, keys, causal=causal, window=window), expected)


@pytest.mark.parametrize("name", ["dot_product", "blockwise"])
@pytest.mark.parametrize("low", [-np.inf, np.finfo("float32").min])
def test_a_bias_without_bound_is_low_and_no_mask(name, low):
    rng, inputs = case_of(3)
    bias = rng.normal(size=(2, 2, LENGTH, LENGTH)).astype("float32")
    mask = rng.random((2, 1, LENGTH, LENGTH)) > 0.3
    mask[0, 0, 5] = False  # a row without any key
    bias[0, :, 5] = low
    mask[1, 0, 2, :2], mask[1, 0, 2, 2:] = True, False
    bias[1, :, 2] = low  # all that is allowed: alike, and nothing forbidden instead
    bias[1, :, 3, 4:], mask[1, 0, 3, :4] = low, True  # some of it: as if it were masked
    found = attend(name, inputs, mask, bias=ops.convert_to_tensor(bias))
    assert np.isfinite(found).all()
    assert not found[0, 5].any()
    assert_close(found[1, 2], inputs[2][1, :2].mean(axis=0))
    mask[1, 0, 3, 4:] = False
    expected = attend(name, inputs, mask, bias=ops.convert_to_tensor(bias))
    assert_close(found[1, 3], expected[1, 3])

    def total(query, bias):
        value = KERNELS[name](
            query,
            *map(ops.convert_to_tensor, inputs[1:]),
            mask=ops.convert_to_tensor(mask),
            bias=bias,
        )
        return ops.sum(value**2)

    for gradient in gradients(total, inputs[0], bias):
        assert np.isfinite(gradient).all()


@each_kernel
def test_rows_without_any_key_are_zero(name):
    _, inputs = case_of(1)
    mask = np.ones((2, 2, LENGTH, LENGTH), bool)
    mask[0, 1, 6] = False
    found = attend(name, inputs, mask)
    assert not found[0, 6, 1].any()
    assert np.abs(found).sum(axis=-1).astype(bool).sum() == found[..., 0].size - 1
