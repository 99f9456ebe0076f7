import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import AdditiveAttention
from tests.attention.formulas import additive_attention, weight
from tests.backends import array_of, assert_close, randomize
from tests.layers.check_layer import check_layer

RNG = np.random.default_rng(32)
QUERY = RNG.normal(size=(2, 3, 6)).astype("float32")
VALUE = RNG.normal(size=(2, 5, 8)).astype("float32")
KEY = RNG.normal(size=(2, 5, 7)).astype("float32")
PADDING = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]], bool)
PAIRS = RNG.random((2, 3, 5)) > 0.3


def built(*shapes, **options):
    layer = AdditiveAttention(4, **options)
    layer.build(*shapes)
    return randomize(layer)


def test_contract(tmp_path):
    options = {
        "units": 4, "dropout": 0.1, "use_bias": False, "seed": 3,
        "kernel_initializer": "he_normal", "bias_initializer": "ones",
    }  # fmt: skip
    check_layer(
        AdditiveAttention, options, (QUERY, VALUE), parameters=24 + 32 + 4,
        path=tmp_path,
    )  # fmt: skip


def test_formula_with_all_masks():
    layer = built(QUERY.shape, VALUE.shape, KEY.shape)
    real = np.array([[1, 1, 1], [1, 0, 1]], bool)
    found = layer(
        QUERY, VALUE, KEY, query_mask=real, key_mask=PADDING, attention_mask=PAIRS,
        return_attention_scores=True,
    )  # fmt: skip
    query = QUERY @ weight(layer.query_dense.kernel)
    key = KEY @ weight(layer.key_dense.kernel) + weight(layer.key_dense.bias)
    mask = PAIRS & PADDING[:, None] & real[:, :, None]
    expected = additive_attention(query, key, VALUE, weight(layer.scale), mask)
    assert_close(found[0], expected[0])
    assert_close(found[1], expected[1])
    assert not array_of(found[0])[1, 1].any()
    without = layer(QUERY, VALUE, KEY, key_mask=PADDING, attention_mask=PAIRS)
    assert_close(array_of(without)[real], expected[0][real])


def test_equals_keras_where_both_do_the_same():
    """Keras adds query and key without projections: W = U = I, b = 0."""
    layer = AdditiveAttention(6, use_bias=False)
    layer.build(QUERY.shape, QUERY.shape)
    memory = RNG.normal(size=(2, 5, 6)).astype("float32")
    other = keras.layers.AdditiveAttention()
    other.build([QUERY.shape, memory.shape])
    scale = RNG.normal(size=6).astype("float32")
    other.set_weights([scale])
    layer.set_weights([scale, np.eye(6), np.eye(6)])
    expected = other([QUERY, memory], mask=[None, ops.convert_to_tensor(PADDING)])
    assert_close(layer(QUERY, memory, value_mask=PADDING), expected)


def test_step_by_step():
    layer = built(QUERY.shape, VALUE.shape)
    expected = array_of(layer(QUERY, VALUE, value_mask=PADDING))
    keys, mask = layer.project_key(VALUE), ops.convert_to_tensor(PADDING[:, None])
    assert tuple(keys.shape) == (2, 5, 4)
    for i in range(3):
        step = layer.attend(QUERY[:, i : i + 1], keys, VALUE, mask=mask)
        assert_close(step, expected[:, i : i + 1])


def test_keras_masks_are_honoured():
    ids = np.array([[3, 4, 5, 2, 1], [6, 2, 0, 0, 0]])
    embedding = keras.layers.Embedding(9, 8, mask_zero=True)
    value = embedding(ids)
    layer = built(QUERY.shape, VALUE.shape)
    expected = layer(QUERY, ops.convert_to_numpy(value), value_mask=ids != 0)
    assert_close(layer(QUERY, value), expected)


def test_dropout_is_on_in_training_only():
    layer = built(QUERY.shape, VALUE.shape, dropout=0.5, seed=2)
    plain = array_of(layer(QUERY, VALUE))
    assert_close(layer(QUERY, VALUE), plain)
    first, second = (array_of(layer(QUERY, VALUE, training=True)) for _ in "12")
    assert np.abs(first - second).max() > 0.01


@pytest.mark.parametrize(
    ("mask", "error"),
    [
        (np.ones((2, 4, 3, 5), bool), r"`attention_mask` of additive .*\(2, 4, 3, 5\)"),
        (np.ones((3, 5), bool), r"`attention_mask` must have shape .*\(3, 5\)"),
    ],
)
def test_masks_of_other_shapes_are_refused(mask, error):
    with pytest.raises(ValueError, match=error):
        AdditiveAttention(4)(QUERY, VALUE, attention_mask=mask)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"units": 0}, "`units` must be .*Received: 0"),
        ({"units": 4, "dropout": 1.0}, r"`dropout` must be in \[0, 1\).*1.0"),
    ],
)
def test_bad_options_are_named(options, error):
    with pytest.raises(ValueError, match=error):
        AdditiveAttention(**options)
