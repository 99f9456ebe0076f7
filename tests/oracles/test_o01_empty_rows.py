"""O1: a query with nothing to attend to gives zeros, on every path."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import DecoderBlock, EncoderBlock, MultiHeadAttention
from tests.backends import (
    array_of,
    assert_close,
    compiled,
    gradients,
    weight_gradients,
)

X = np.random.default_rng(0).normal(size=(2, 5, 8)).astype("float32")
MASK = np.ones((2, 5, 5), bool)
MASK[1, 2] = False
OTHERS = np.ones((2, 5), bool)
OTHERS[1, 2] = False
TOLERANCE = {"float32": 1e-5, "mixed_float16": 5e-3, "mixed_bfloat16": 4e-2}
SIBLINGS = {
    "plain": {},
    "dropout": {"dropout": 0.1},
    "value_dim": {"value_dim": 3},
    "grouped": {"num_key_value_heads": 1},
}


def attention(policy="float32", **options):
    keras.utils.set_random_seed(1)
    layer = MultiHeadAttention(
        2, 4, bias_initializer="random_normal", dtype=policy, **options
    )
    layer.build(X.shape, X.shape)
    return layer


CASES = [(policy, "plain") for policy in TOLERANCE]
CASES += [("float32", sibling) for sibling in list(SIBLINGS)[1:]]


@pytest.mark.parametrize(("policy", "sibling"), CASES)
def test_empty_row_is_the_output_bias_and_others_stay(policy, sibling):
    layer = attention(policy, **SIBLINGS[sibling])
    expected = array_of(layer(X, X))
    bias = array_of(ops.cast(layer.output_dense.bias, layer.compute_dtype))
    with_scores, scores = layer(X, X, attention_mask=MASK, return_attention_scores=True)
    plain = layer(X, X, attention_mask=MASK)
    in_graph = compiled(lambda x: layer(x, x, attention_mask=MASK))(X)
    for output in (array_of(plain), array_of(with_scores), array_of(in_graph)):
        np.testing.assert_array_equal(output[1, 2], bias)
        assert_close(output[OTHERS], expected[OTHERS], atol=TOLERANCE[policy])
    np.testing.assert_array_equal(array_of(scores)[1, :, 2, :], 0.0)
    sums = array_of(scores).sum(-1).transpose(0, 2, 1)[OTHERS]
    assert_close(sums, np.ones_like(sums), atol=TOLERANCE[policy])


def test_dropout_configured_changes_nothing_at_inference():
    plain, dropped = attention(), attention(dropout=0.1)
    dropped.set_weights(plain.get_weights())
    output, scores = dropped(X, X, attention_mask=MASK, return_attention_scores=True)
    expected, expected_scores = plain(
        X, X, attention_mask=MASK, return_attention_scores=True
    )
    assert_close(output, expected)
    assert_close(scores, expected_scores)
    assert_close(dropped(X, X, attention_mask=MASK), expected)


@pytest.mark.parametrize(("policy", "sibling"), CASES)
@pytest.mark.parametrize("with_scores", [False, True])
def test_gradients_are_finite(policy, sibling, with_scores):
    layer = attention(policy, **SIBLINGS[sibling])
    options = {"attention_mask": MASK, "return_attention_scores": with_scores}

    def loss(output):
        parts = output if with_scores else (output,)
        return sum(ops.sum(ops.square(ops.cast(part, "float32"))) for part in parts)

    found = weight_gradients(layer, loss, X, X, **options)
    found += gradients(lambda x: loss(layer(x, x, **options)), X)
    for gradient in found:
        assert np.isfinite(gradient).all()
    assert all(np.abs(gradient).max() > 0 for gradient in found if gradient.ndim > 2)


def test_gradient_does_not_pass_an_empty_row():
    layer = attention()
    (gradient,) = gradients(
        lambda x: ops.sum(layer(x, X, attention_mask=MASK)[1, 2] ** 2), X
    )
    np.testing.assert_array_equal(gradient, 0.0)


def test_empty_row_of_one_head_only():
    mask = np.ones((2, 2, 5, 5), bool)
    mask[1, 0, 2] = False
    layer = attention()
    output, scores = layer(X, X, attention_mask=mask, return_attention_scores=True)
    np.testing.assert_array_equal(array_of(scores)[1, 0, 2], 0.0)
    assert_close(array_of(scores)[1, 1, 2].sum(), 1.0)
    value = np.einsum("td,dh->th", X[1], array_of(layer.value_dense.kernel)[:, 1])
    value = value + array_of(layer.value_dense.bias)[1]
    context = array_of(scores)[1, 1, 2] @ value
    expected = context @ array_of(layer.output_dense.kernel)[1]
    expected += array_of(layer.output_dense.bias)
    assert_close(array_of(output)[1, 2], expected)
    assert_close(array_of(layer(X, X, attention_mask=mask)), array_of(output))


def test_row_emptied_by_two_masks_together():
    layer = attention()
    first_is_padding = np.array([[True] * 5, [False, True, True, True, True]])
    output, scores = layer(
        X, X, value_mask=first_is_padding, use_causal_mask=True,
        return_attention_scores=True,
    )  # fmt: skip
    np.testing.assert_array_equal(array_of(scores)[1, :, 0], 0.0)
    assert_close(array_of(output)[1, 0], array_of(layer.output_dense.bias))


@pytest.mark.parametrize(
    ("policy", "normalize_first"),
    [("float32", False), ("float32", True), ("mixed_float16", False)],
)
@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
def test_blocks_stay_finite_on_rows_of_padding_only(kind, normalize_first, policy):
    block = kind(2, 16, normalize_first=normalize_first, dtype=policy)
    padding = np.array([[True] * 5, [False] * 5])
    inputs = (X,) if kind is EncoderBlock else (X, X)
    masks = {"padding_mask": padding}
    if kind is DecoderBlock:
        masks["memory_padding_mask"] = padding
    assert np.isfinite(array_of(block(*inputs, **masks))).all()

    def loss(output):
        return ops.sum(ops.square(ops.cast(output, "float32")))

    for gradient in weight_gradients(block, loss, *inputs, **masks):
        assert np.isfinite(gradient).all()
