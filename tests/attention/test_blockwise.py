"""Blockwise attention against the formula and against `dot_product_attention`."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.attention import (
    blockwise,
    blockwise_attention,
    dot_product_attention,
)
from tests.attention.formulas import attention, visible
from tests.backends import (
    BACKEND,
    array_of,
    assert_close,
    compiled,
    gradients,
    second_gradients,
)

RNG = np.random.default_rng(21)
HEADS, DIM, VALUE_DIM, REACH = 3, 6, 5, 7
TABLE = RNG.normal(size=(2 * REACH + 1, HEADS)).astype("float32")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(blockwise, "BLOCK", 4)


def table_bias(table):
    """A trained bias by clipped distance, as in relative positions."""

    def bias_at(queries, keys, offset):
        query = ops.arange(queries, dtype="int32") + offset
        distance = query[:, None] - ops.arange(keys, dtype="int32")
        rows = ops.clip(distance, -REACH, REACH) + REACH
        return ops.transpose(ops.take(table, rows, axis=0), (2, 0, 1))[None]

    return bias_at


def arrays(queries, keys):
    shapes = (queries, DIM), (keys, DIM), (keys, VALUE_DIM)
    return [RNG.normal(size=(2, n, HEADS, d)).astype("float32") for n, d in shapes]


def bias_of(*shape):
    return RNG.normal(size=shape).astype("float32")


KEYS = RNG.random((2, 1, 1, 9)) > 0.4
KEYS[0] = False  # a row without any key
PAIRS = RNG.random((2, HEADS, 11, 9)) > 0.5
PAIRS[0, 0, :3] = False
CASES = {
    "several blocks": ((11, 9), {}),
    "whole blocks": ((12, 12), {"causal": True}),
    "one query too many": ((13, 13), {"window": 2}),
    "one block": ((3, 9), {"mask": KEYS}),
    "one key": ((11, 1), {}),
    "causal window": ((13, 13), {"causal": True, "window": 2}),
    "window wider than all": ((11, 9), {"window": 30}),
    "offset": ((11, 13), {"causal": True, "window": 3, "offset": 3}),
    "rows behind all keys": ((11, 4), {"causal": True, "window": 2}),
    "scale": ((11, 9), {"scale": 0.3}),
    "by distance": ((11, 9), {"table": TABLE}),
    "by distance, in a window": ((13, 13), {"table": TABLE, "window": 3, "offset": 1}),
    "mask of keys": ((11, 9), {"mask": KEYS}),
    "mask of keys, window": ((11, 9), {"mask": KEYS, "window": 3}),
    "mask of pairs": ((11, 9), {"mask": PAIRS, "causal": True}),
    "mask of pairs, window": ((11, 9), {"mask": PAIRS, "causal": True, "window": 2}),
    "mask of queries": ((11, 9), {"mask": PAIRS[:, :1, :, :1], "window": 2}),
    "bias": ((11, 9), {"bias": bias_of(1, HEADS, 11, 9)}),
    "bias without heads": ((11, 9), {"bias": bias_of(11, 9)}),
    "bias of keys": ((11, 9), {"bias": bias_of(2, 1, 1, 9)}),
    "all": (
        (11, 9),
        {
            "bias": bias_of(2, HEADS, 11, 1),
            "mask": PAIRS,
            "table": TABLE,
            "window": 4,
            "causal": True,
        },
    ),
}
each_case = pytest.mark.parametrize("case", CASES)


def split_case(case):
    """The arrays that have gradients, and a function of a kernel and of them."""
    lengths, options = CASES[case]
    options = dict(options)
    inputs = arrays(*lengths)
    names = [name for name in ("bias", "table") if name in options]
    inputs += [options.pop(name) for name in names]
    mask = options.pop("mask", None)

    def call(kernel, query, key, value, *others, **more):
        given = dict(zip(names, others, strict=True))
        if "table" in given:
            given["bias_at"] = table_bias(given.pop("table"))
        if mask is not None:
            given["mask"] = ops.convert_to_tensor(mask)
        return kernel(query, key, value, **given, **options, **more)

    return inputs, call


@each_case
def test_equals_the_full_result(case):
    inputs, call = split_case(case)
    tensors = [ops.convert_to_tensor(x) for x in inputs]
    expected = call(dot_product_attention, *tensors)
    assert_close(call(blockwise_attention, *tensors), expected)


@each_case
def test_gradients_equal_those_of_the_full_result(case):
    inputs, call = split_case(case)
    along = RNG.normal(size=(2, inputs[0].shape[1], HEADS, VALUE_DIM))

    def loss_of(kernel):
        weights = ops.convert_to_tensor(along.astype("float32"))
        return lambda *tensors: ops.sum(call(kernel, *tensors) * weights)

    found = gradients(loss_of(blockwise_attention), *inputs)
    expected = gradients(loss_of(dot_product_attention), *inputs)
    for one, other in zip(found, expected, strict=True):
        assert np.abs(other).max() > 0 or inputs[1].shape[1] == 1
        assert_close(one, other)


def test_formula():
    query, key, value = arrays(11, 9)
    tensors = [ops.convert_to_tensor(x) for x in (query, key, value)]
    options = {"causal": True, "window": 3, "offset": 1}
    mask = KEYS & visible(11, 9, **options)
    found = blockwise_attention(*tensors, mask=ops.convert_to_tensor(KEYS), **options)
    assert_close(found, attention(query, key, value, mask)[0])
    assert not array_of(found)[0].any()


@pytest.mark.tensorflow_only
@pytest.mark.parametrize("case", ["several blocks", "all", "mask of keys, window"])
def test_unknown_lengths(case):
    import tensorflow as tf

    inputs, call = split_case(case)
    specs = [tf.TensorSpec((None, None, *x.shape[2:])) for x in inputs[:3]]
    specs += [tf.TensorSpec(x.shape if x is TABLE else (None,) * 4) for x in inputs[3:]]

    def step(*tensors):
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            context = call(blockwise_attention, *tensors)
            loss = tf.reduce_sum(context**2)
        return [context, *tape.gradient(loss, tensors)]

    found = tf.function(step, input_signature=specs)(*inputs)
    tensors = [ops.convert_to_tensor(x) for x in inputs]
    expected = call(dot_product_attention, *tensors)
    loss = lambda *tensors: ops.sum(call(dot_product_attention, *tensors) ** 2)  # noqa: E731
    for one, other in zip(found, [expected, *gradients(loss, *inputs)], strict=True):
        assert_close(one, other)


@pytest.mark.parametrize("short", [1, 3])
def test_unknown_lengths_of_less_than_a_block(short):
    inputs = arrays(short, 9)
    symbols = [keras.Input((None, *x.shape[2:])) for x in inputs]

    class Kernel(keras.layers.Layer):
        def call(self, query, key, value):
            return blockwise_attention(query, key, value, window=4)

        def compute_output_shape(self, query_shape, key_shape, value_shape):
            return (*query_shape[:3], value_shape[3])

    model = keras.Model(symbols, Kernel()(*symbols))
    expected = attention(*inputs, visible(short, 9, window=4))[0]
    assert_close(model.predict(inputs, verbose=0), expected)


@pytest.mark.skipif(BACKEND == "torch", reason="PyTorch compiles nothing here")
def test_compiled_equals_eager():
    inputs, call = split_case("all")
    tensors = [ops.convert_to_tensor(x) for x in inputs]
    options = {"jit_compile": True} if BACKEND == "tensorflow" else {}
    in_graph = compiled(lambda *x: call(blockwise_attention, *x), **options)(*tensors)
    assert_close(in_graph, call(blockwise_attention, *tensors))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype):
    query, key, value = arrays(11, 9)
    mask = ops.convert_to_tensor(KEYS)

    def context(*tensors):
        return blockwise_attention(*(ops.cast(x, dtype) for x in tensors), mask=mask)

    tensors = [ops.convert_to_tensor(x) for x in (query, key, value)]
    found = context(*tensors)
    assert keras.backend.standardize_dtype(found.dtype) == dtype
    tolerance = 6e-3 if dtype == "float16" else 5e-2
    assert_close(found, attention(query, key, value, KEYS)[0], atol=tolerance)
    loss = lambda *x: ops.sum(ops.cast(context(*x), "float32") ** 2)  # noqa: E731
    exact = lambda *x: ops.sum(dot_product_attention(*x, mask=mask) ** 2)  # noqa: E731
    pairs = zip(
        gradients(loss, query, key, value), gradients(exact, query, key, value),
        strict=True,
    )  # fmt: skip
    for one, other in pairs:
        assert_close(one, other, atol=6 * tolerance)


def test_scores_come_from_the_full_result():
    inputs, call = split_case("mask of pairs")
    tensors = [ops.convert_to_tensor(x) for x in inputs]
    found = call(blockwise_attention, *tensors, return_scores=True)
    expected = call(dot_product_attention, *tensors, return_scores=True)
    assert_close(found[0], expected[0])
    assert_close(found[1], expected[1])


def test_dropout_drops_a_share_of_the_scores_of_each_block():
    """With an identity as values the context is what is left of the scores."""
    ones, eye = ops.ones((1, 90, 1, 2)), ops.eye(90)[None, :, None]
    draw = lambda seed: array_of(  # noqa: E731
        blockwise_attention(ones, ones, eye, dropout=0.4, seed=seed)
    )[0, :, 0]
    kept = draw(5)
    np.testing.assert_allclose(kept[kept > 0], 1 / (90 * 0.6), rtol=1e-4)
    deviation = np.sqrt(0.4 * 0.6 / kept.size)
    assert abs((kept == 0).mean() - 0.4) < 5 * deviation
    rows = {tuple(row) for row in kept > 0}
    assert len(rows) == 90
    np.testing.assert_array_equal(draw(5), kept)
    assert (draw(6) != kept).any()


@pytest.mark.parametrize("integer", [False, True])
def test_the_gradient_sees_the_same_dropout(integer):
    query, key, _ = arrays(11, 9)
    value = RNG.normal(size=(2, 9, HEADS, 9)).astype("float32")
    eye = np.broadcast_to(np.eye(9, dtype="float32")[None, :, None], value.shape)

    def seed():
        return 3 if integer else keras.random.SeedGenerator(3)

    def context(query, key, value):
        return blockwise_attention(query, key, value, dropout=0.5, seed=seed())

    if integer or BACKEND != "jax":  # JAX's generators don't start inside of a trace
        found = gradients(lambda *x: ops.sum(context(*x) ** 2), query, key, value)
        kept = array_of(context(*map(ops.convert_to_tensor, (query, key, eye)))) > 0
        kept = np.transpose(kept, (0, 2, 1, 3)).astype("float32") / 0.5

        def dropped(query, key, value):
            _, scores = dot_product_attention(query, key, value, return_scores=True)
            return ops.einsum("bhqk,bkhd->bqhd", scores * kept, value)

        kept = ops.convert_to_tensor(kept)
        expected = gradients(lambda *x: ops.sum(dropped(*x) ** 2), query, key, value)
        for one, other in zip(found, expected, strict=True):
            assert_close(one, other)


def test_a_generator_moves_on_from_call_to_call():
    tensors = [ops.convert_to_tensor(x) for x in arrays(11, 9)]
    seed = keras.random.SeedGenerator(3)
    first, second = (
        array_of(blockwise_attention(*tensors, dropout=0.5, seed=seed)) for _ in "12"
    )
    assert np.abs(first - second).max() > 0.01


@pytest.mark.parametrize("shape", [(0, 200), (2, 0), (0, 0)], ids=str)
def test_nothing_to_attend_from(shape):
    query = ops.zeros((*shape, 2, 4))
    found = blockwise_attention(query, query, query, causal=True)
    assert tuple(found.shape) == (*shape, 2, 4)
    if BACKEND == "tensorflow":
        import tensorflow as tf

        signature = [tf.TensorSpec((None, None, 2, 4))]
        run = tf.function(
            lambda x: blockwise_attention(x, x, x, causal=True),
            input_signature=signature,
        )
        assert tuple(run(query).shape) == (*shape, 2, 4)


def test_nothing_to_attend_to():
    query, key = ops.ones((2, 200, 2, 4)), ops.ones((2, 0, 2, 4))
    found = blockwise_attention(query, key, key, bias_at=by_distance)
    assert_close(found, np.zeros((2, 200, 2, 4)))


def by_distance(queries, keys, offset):
    distance = ops.abs(ops.arange(queries)[:, None] + offset - ops.arange(keys)[None])
    return -ops.cast(distance, "float32")[None, None]


def test_second_derivatives_are_refused():
    query, key, value = arrays(11, 9)

    def function(query):
        return ops.sum(ops.square(blockwise_attention(query, key, value)))

    with pytest.raises(NotImplementedError, match="no second derivatives"):
        second_gradients(function, np.ones_like(query), query)


@pytest.mark.skipif(BACKEND != "jax", reason="transformations of JAX")
@pytest.mark.parametrize("name", ["jit", "checkpoint"])
def test_gradients_of_transformed_functions(name):
    import jax

    query, key, value = map(ops.array, arrays(11, 9))

    def function(query, mask, state):
        attended = blockwise_attention(
            query, key, value, mask=mask, dropout=0.3, seed=state
        )
        return ops.sum(ops.square(attended))

    arguments = query, ops.array(KEYS), ops.array([3, 4], "uint32")
    wrapped = getattr(jax, name)(function)
    assert_close(jax.grad(wrapped)(*arguments), jax.grad(function)(*arguments))
