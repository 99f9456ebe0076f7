"""Linear attention against its quadratic and its recurrent form, in NumPy."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.attention import (
    linear_attention,
    linear_attention_step,
    linear_sums,
)
from tests.attention.formulas import linear_attention as formula
from tests.attention.formulas import visible
from tests.backends import BACKEND, array_of, assert_close, compiled, gradients

RNG = np.random.default_rng(22)
HEADS, DIM, VALUE_DIM = 3, 6, 5
LENGTHS = [(1, 1), (4, 4), (11, 11), (9, 13), (11, 6)]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(linear_sums, "CHUNK", 4)


def arrays(queries, keys):
    shapes = (queries, DIM), (keys, DIM), (keys, VALUE_DIM)
    return [RNG.normal(size=(2, n, HEADS, d)).astype("float32") for n, d in shapes]


def tensors_of(inputs):
    return [ops.convert_to_tensor(x) for x in inputs]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_linear_form_equals_the_quadratic_form(lengths, masked, causal):
    inputs, options = arrays(*lengths), {"causal": causal}
    mask = RNG.random((2, 1, 1, lengths[1])) > 0.4
    mask[0] = False
    if masked:
        options["mask"] = ops.convert_to_tensor(mask)
    seen = visible(*lengths, causal) & (mask if masked else True)
    expected, weights = formula(*inputs, seen)
    assert_close(linear_attention(*tensors_of(inputs), **options), expected)
    found = linear_attention(*tensors_of(inputs), **options, return_scores=True)
    assert_close(found[0], expected)
    assert_close(found[1], weights)


@pytest.mark.parametrize(
    "options",
    [
        {"window": 3},
        {"window": 3, "causal": True},
        {"causal": True, "offset": 2},
        {"causal": True, "window": 2, "offset": 4},
    ],
    ids=str,
)
def test_what_only_the_quadratic_form_can_do(options):
    inputs = arrays(7, 11)
    pairs = RNG.random((2, HEADS, 7, 11)) > 0.4
    seen = pairs & visible(7, 11, **options)
    found = linear_attention(
        *tensors_of(inputs), mask=ops.convert_to_tensor(pairs), **options
    )
    assert_close(found, formula(*inputs, seen)[0])


def test_causal_form_is_recurrent():
    """S_i = S_{i-1} + f(k_i) v_i^T, with f(x) = elu(x) + 1."""
    query, key, value = arrays(11, 11)
    found = array_of(linear_attention(*tensors_of((query, key, value)), causal=True))
    elu = lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))  # noqa: E731
    state, total, own = np.zeros((2, HEADS, DIM, VALUE_DIM)), 0.0, None
    for i in range(11):
        f_query, f_key = elu(query[:, i]) + 1, elu(key[:, i]) + 1
        state = state + f_key[..., None] * value[:, i, :, None, :]
        total = total + f_key
        context = np.einsum("bhd,bhdm->bhm", f_query, state)
        context /= np.sum(f_query * total, axis=-1, keepdims=True)
        assert_close(found[:, i], context)
        step, own = linear_attention_step(
            *tensors_of(x[:, i] for x in (query, key, value)), own
        )
        assert_close(step, context)
        assert_close(own[..., :-1], state)
        assert_close(own[..., -1], total)


@pytest.mark.parametrize("causal", [False, True])
def test_gradient_equals_that_of_the_quadratic_form(causal):
    inputs = arrays(11, 11)
    mask = RNG.random((2, 1, 1, 11)) > 0.4
    mask[0] = False
    mask = ops.convert_to_tensor(mask)

    def loss(*tensors, **options):
        options = {"mask": mask, "causal": causal, **options}
        result = linear_attention(*tensors, **options)
        return ops.sum((result[0] if isinstance(result, tuple) else result) ** 2)

    found = gradients(loss, *inputs)
    expected = gradients(lambda *x: loss(*x, return_scores=True), *inputs)
    for one, other in zip(found, expected, strict=True):
        assert np.isfinite(one).all()
        assert_close(one, other, atol=2e-5)


def test_features_far_below_zero_keep_their_size():
    x = np.array([-30.0, -1.0, 0.0, 2.0], "float32")
    expected = [np.exp(-30.0), np.exp(-1.0), 1.0, 3.0]
    found = array_of(linear_sums.positive_features(x))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_are_float32(dtype):
    """Sums of 5000 features above 100 are past the range of float16."""
    x = ops.full((1, 5000, 1, 4), 100.0, dtype)
    for causal in (False, True):
        found = linear_attention(x, x, x, causal=causal)
        assert keras.backend.standardize_dtype(found.dtype) == dtype
        assert_close(found, np.full(x.shape, 100.0), atol=0.1)


def test_scale_is_a_factor_of_the_query():
    query, key, value = arrays(7, 7)
    found = linear_attention(*tensors_of((query, key, value)), scale=0.3)
    assert_close(found, formula(query * 0.3, key, value)[0])


@pytest.mark.tensorflow_only
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_unknown_lengths(lengths, causal):
    import tensorflow as tf

    inputs = arrays(*lengths)
    specs = [tf.TensorSpec((None, None, *x.shape[2:])) for x in inputs]
    function = tf.function(
        lambda *x: linear_attention(*x, causal=causal), input_signature=specs
    )
    assert_close(function(*inputs), formula(*inputs, visible(*lengths, causal))[0])


@pytest.mark.skipif(BACKEND == "torch", reason="PyTorch compiles nothing here")
def test_compiled_equals_eager():
    tensors = tensors_of(arrays(11, 11))
    options = {"jit_compile": True} if BACKEND == "tensorflow" else {}
    function = compiled(lambda *x: linear_attention(*x, causal=True), **options)
    assert_close(function(*tensors), linear_attention(*tensors, causal=True))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"bias": np.zeros((1, 1, 3, 3))}, r"`bias` must be None.*\(1, 1, 3, 3\)"),
        ({"bias_at": min}, "`bias_at` must be None.*Received: <built-in"),
        ({"dropout": 0.25}, "`dropout` must be 0 .*Received: 0.25"),
    ],
)
def test_what_needs_scores_is_refused(options, error):
    with pytest.raises(ValueError, match=error):
        linear_attention(*tensors_of(arrays(3, 3)), **options)
