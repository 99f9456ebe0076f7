import keras
import numpy as np
import pytest

from keras_transformer import MultiHeadAttention
from tests.attention.formulas import multi_head_attention
from tests.backends import array_of, assert_close, randomize

RNG = np.random.default_rng(9)
# batch 2, query 3 of width 8, key 5 of width 6, value 5 of width 7.
QUERY = RNG.normal(size=(2, 3, 8)).astype("float32")
VALUE = RNG.normal(size=(2, 5, 7)).astype("float32")
KEY = RNG.normal(size=(2, 5, 6)).astype("float32")
MASK = RNG.random((2, 3, 5)) > 0.4
MASK[..., 0] = True  # core Keras has no answer to an empty row
VALUE_MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]], bool)
OPTIONS = {
    "plain": {},
    "value_dim": {"value_dim": 5},
    "output": {"value_dim": 5, "output_dim": 10},
    "no bias": {"use_bias": False},
    "dropout": {"dropout": 0.3},
}
CALLS = {
    "plain": {},
    "mask": {"attention_mask": MASK},
    "mask by head": {"attention_mask": np.stack([MASK, MASK[::-1]], axis=1)},
    "causal": {"use_causal_mask": True},
    "value mask": {"value_mask": VALUE_MASK},
    "all": {
        "attention_mask": MASK, "use_causal_mask": True, "value_mask": VALUE_MASK,
    },
}  # fmt: skip


def twins(key=None, **options):
    """A layer of ours and core Keras's with the same weights."""
    ours = MultiHeadAttention(2, 4, **options)
    shapes = [QUERY.shape, VALUE.shape, *([] if key is None else [key.shape])]
    ours.build(*shapes)
    theirs = dict(options)
    if "output_dim" in theirs:
        theirs["output_shape"] = theirs.pop("output_dim")
    theirs = keras.layers.MultiHeadAttention(2, 4, **theirs)
    theirs.build(*shapes)
    randomize(theirs)
    ours.set_weights(
        [array_of(weight) for weight in theirs.weights[: len(ours.weights)]]
    )
    return ours, theirs


@pytest.mark.parametrize("with_key", [False, True])
@pytest.mark.parametrize("options", OPTIONS)
def test_weights_of_keras_give_its_output(options, with_key):
    key = KEY if with_key else None
    ours, theirs = twins(key, **OPTIONS[options])
    for name, call in CALLS.items():
        expected, scores = theirs(
            QUERY, VALUE, key, **call, return_attention_scores=True
        )
        assert_close(ours(QUERY, VALUE, key, **call), expected, message=name)
        found = ours(QUERY, VALUE, key, **call, return_attention_scores=True)
        assert_close(found[0], expected, message=name)
        assert_close(found[1], scores, message=name)


def test_names_and_shapes_of_weights_are_those_of_keras():
    ours, theirs = twins(KEY, value_dim=5, output_dim=10)

    def described(layer):
        return [
            ("/".join(w.path.split("/")[-2:]), tuple(w.shape))
            for w in layer.trainable_weights
        ]

    assert described(ours) == described(theirs)
    assert described(ours)[0] == ("query/kernel", (8, 2, 4))
    assert described(ours)[6] == ("attention_output/kernel", (2, 5, 10))


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_formula_with_grouped_heads(kv_heads):
    layer = MultiHeadAttention(4, 3, value_dim=2, num_key_value_heads=kv_heads)
    layer.build(QUERY.shape, VALUE.shape, KEY.shape)
    randomize(layer)
    output, scores = layer(
        QUERY, VALUE, KEY, attention_mask=MASK, return_attention_scores=True
    )
    expected = multi_head_attention(layer, QUERY, VALUE, KEY, mask=MASK[:, None])
    assert_close(output, expected[0])
    assert_close(scores, expected[1])
    assert layer.key_dense.kernel.shape == (6, kv_heads, 3)
    assert layer.value_dense.kernel.shape == (7, kv_heads, 2)


def test_grouped_heads_equal_repeated_ones():
    grouped = MultiHeadAttention(4, 3, num_key_value_heads=2)
    whole = MultiHeadAttention(4, 3)
    for layer in (grouped, whole):
        layer.build(QUERY.shape, VALUE.shape)
    randomize(grouped)
    weights = [array_of(weight) for weight in grouped.weights[:8]]
    for i in (2, 3, 4, 5):  # key and value, kernel and bias
        weights[i] = np.repeat(weights[i], 2, axis=-2)
    for variable, array in zip(whole.weights, weights, strict=False):
        variable.assign(array)
    assert_close(grouped(QUERY, VALUE), whole(QUERY, VALUE))


@pytest.mark.parametrize("kv_heads", [1, 2])
def test_grouped_heads_equal_those_of_keras(kv_heads):
    theirs = keras.layers.GroupQueryAttention(
        head_dim=3, num_query_heads=4, num_key_value_heads=kv_heads
    )
    theirs.build(QUERY.shape, VALUE.shape, KEY.shape)
    randomize(theirs)
    ours = MultiHeadAttention(4, 3, num_key_value_heads=kv_heads)
    ours.build(QUERY.shape, VALUE.shape, KEY.shape)
    by_name = {weight.path.split("/", 1)[-1]: weight for weight in theirs.weights}
    assert len(by_name) == 8
    for name, dense in (
        ("query", ours.query_dense),
        ("key", ours.key_dense),
        ("value", ours.value_dense),
        ("attention_output", ours.output_dense),
    ):
        for weight in ("kernel", "bias"):
            getattr(dense, weight).assign(array_of(by_name[f"{name}/{weight}"]))
    expected = theirs(QUERY, VALUE, KEY, attention_mask=MASK)
    assert_close(ours(QUERY, VALUE, KEY, attention_mask=MASK), expected)


def test_projecting_once_equals_calling():
    layer = MultiHeadAttention(2, 4)
    expected = layer(QUERY, VALUE, KEY, value_mask=VALUE_MASK)
    key, value = layer.project_key_value(
        keras.ops.convert_to_tensor(VALUE), keras.ops.convert_to_tensor(KEY)
    )
    mask = keras.ops.convert_to_tensor(VALUE_MASK[:, None, None])
    assert_close(layer.attend(QUERY, key, value, mask=mask), expected)


def test_dropout_works_in_training_only():
    layer = MultiHeadAttention(2, 4, dropout=0.5, seed=2)
    expected = array_of(layer(QUERY, VALUE))
    assert_close(layer(QUERY, VALUE, training=False), expected)
    first, second = (array_of(layer(QUERY, VALUE, training=True)) for _ in range(2))
    assert np.abs(first - expected).max() > 0.01
    assert np.abs(first - second).max() > 0.01
    again = MultiHeadAttention(2, 4, dropout=0.5, seed=2)
    again.build(QUERY.shape, VALUE.shape)
    for one, other in zip(
        again.trainable_weights, layer.trainable_weights, strict=True
    ):
        one.assign(array_of(other))
    assert_close(again(QUERY, VALUE, training=True), first)


def test_query_mask_silences_rows():
    layer = MultiHeadAttention(2, 4, bias_initializer="random_normal")
    mask = np.array([[1, 1, 0], [1, 0, 0]], bool)
    output = array_of(layer(QUERY, VALUE, query_mask=mask))
    expected = array_of(layer(QUERY, VALUE))
    assert_close(output[mask], expected[mask])
    bias = array_of(layer.output_dense.bias)
    np.testing.assert_array_equal(output[~mask], np.broadcast_to(bias, (3, 8)))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"num_heads": 0}, r"`num_heads` must be an integer of at least 1.*: 0\."),
        ({"num_heads": 2.0}, r"`num_heads` must be an integer .*: 2\.0\."),
        ({"num_heads": True}, r"`num_heads` must be an integer .*: True\."),
        ({"key_dim": -1}, r"`key_dim` must be an integer of at least 1.*: -1\."),
        ({"value_dim": -2}, r"`value_dim` must be an integer of at least 1.*: -2\."),
        ({"value_dim": 0}, r"`value_dim` must be an integer of at least 1.*: 0\."),
        ({"output_dim": 0}, r"`output_dim` must be an integer of at least 1.*: 0\."),
        ({"dropout": 1.5}, r"`dropout` must be in \[0, 1\)\. Received: 1\.5\."),
        ({"dropout": 1}, r"`dropout` must be in \[0, 1\)\. Received: 1\."),
        ({"dropout": "no"}, r"`dropout` must be in \[0, 1\)\. Received: 'no'\."),
        (
            {"num_key_value_heads": 0},
            r"`num_key_value_heads` must be an integer of at least 1.*: 0\.",
        ),
        (
            {"num_key_value_heads": 3},
            r"must divide `num_heads`.*num_key_value_heads=3, num_heads=4",
        ),
        ({"position": "left"}, r"`position` must be None or a layer with .*'left'"),
        ({"attention": "magic"}, r"`attention` must be one of 'dot_.*: 'magic'\."),
    ],
)
def test_errors(options, error):
    with pytest.raises(ValueError, match=error):
        MultiHeadAttention(**{"num_heads": 4, "key_dim": 3, **options})
