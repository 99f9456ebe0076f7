import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.attention import additive_attention
from tests.attention.formulas import additive_attention as formula
from tests.backends import array_of, assert_close, gradients

RNG = np.random.default_rng(23)
QUERY = RNG.normal(size=(2, 3, 6)).astype("float32")
KEY = RNG.normal(size=(2, 5, 6)).astype("float32")
VALUE = RNG.normal(size=(2, 5, 4)).astype("float32")
SCALE = RNG.normal(size=6).astype("float32")
MASK = RNG.random((2, 3, 5)) > 0.4
MASK[0, 1] = False


@pytest.mark.parametrize("mask", [None, MASK, MASK[:, :1]], ids=["none", "all", "keys"])
def test_formula(mask):
    tensors = [ops.convert_to_tensor(x) for x in (QUERY, KEY, VALUE, SCALE)]
    options = {} if mask is None else {"mask": ops.convert_to_tensor(mask)}
    expected = formula(QUERY, KEY, VALUE, SCALE, mask)
    assert_close(additive_attention(*tensors, **options), expected[0])
    context, scores = additive_attention(*tensors, **options, return_scores=True)
    assert_close(context, expected[0])
    assert_close(scores, expected[1])
    if mask is MASK:
        assert not array_of(context)[0, 1].any()


def test_gradients_are_finite_without_any_key():
    nothing = ops.zeros((1, 1, 5), "bool")
    loss = lambda *x: ops.sum(additive_attention(*x, mask=nothing) ** 2)  # noqa: E731
    for gradient in gradients(loss, QUERY, KEY, VALUE, SCALE):
        assert not gradient.any()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype):
    tensors = [ops.cast(x, dtype) for x in (QUERY, KEY, VALUE, SCALE)]
    context, scores = additive_attention(*tensors, return_scores=True)
    for x in (context, scores):
        assert keras.backend.standardize_dtype(x.dtype) == dtype
    tolerance = 8e-3 if dtype == "float16" else 6e-2
    assert_close(context, formula(QUERY, KEY, VALUE, SCALE)[0], atol=tolerance)


def test_dropout_drops_scores_and_returns_them_whole():
    ones, eye = ops.ones((1, 40, 2)), ops.eye(40)[None]
    context, scores = additive_attention(
        ones, ones, eye, ops.ones(2), dropout=0.5, seed=1, return_scores=True
    )
    assert_close(scores, np.full((1, 40, 40), 1 / 40))
    dropped = array_of(context) == 0
    assert abs(dropped.mean() - 0.5) < 0.06
