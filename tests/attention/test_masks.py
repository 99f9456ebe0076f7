import numpy as np
import pytest
from keras import ops

from keras_transformer.attention import (
    as_attention_mask,
    as_boolean_mask,
    as_padding_mask,
    causal_mask,
    combine_masks,
    key_mask,
)
from tests.backends import array_of


def test_integer_masks_are_read_as_booleans():
    mask = array_of(as_boolean_mask(np.array([[1, 0]]), "mask"))
    assert mask.dtype == bool
    assert mask.tolist() == [[True, False]]
    assert array_of(as_boolean_mask([[0, 1]], "mask")).tolist() == [[False, True]]


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_float_masks_are_refused(dtype):
    mask = ops.zeros((2, 3), dtype)
    error = rf"`some_mask` must be boolean \(True = may attend\).*{dtype}.*\(2, 3\)"
    with pytest.raises(ValueError, match=error):
        as_boolean_mask(mask, "some_mask")


@pytest.mark.parametrize("shape", [(3,), (2, 3, 4), (2, 1, 3, 4)])
def test_padding_has_two_axes(shape):
    error = r"`padding_mask` must have shape \(batch, length\).*Received: shape \("
    with pytest.raises(ValueError, match=error):
        as_padding_mask(np.ones(shape, bool))
    with pytest.raises(ValueError, match="`some_mask` must have shape"):
        key_mask(np.ones(shape, bool), "some_mask")


@pytest.mark.parametrize("shape", [(3,), (2, 3), (1, 2, 1, 3, 4)])
def test_attention_mask_has_three_or_four_axes(shape):
    error = r"`attention_mask` must have shape .*`padding_mask`.*Received: shape \("
    with pytest.raises(ValueError, match=error):
        as_attention_mask(np.ones(shape, bool))


def test_shapes():
    assert as_attention_mask(np.ones((2, 3, 4), bool)).shape == (2, 1, 3, 4)
    assert as_attention_mask(np.ones((2, 5, 3, 4), bool)).shape == (2, 5, 3, 4)
    assert key_mask(np.ones((2, 3), bool)).shape == (2, 1, 1, 3)
    for function in (as_attention_mask, as_padding_mask, key_mask):
        assert function(None) is None


@pytest.mark.parametrize(
    ("query", "key", "offset"), [(4, 4, 0), (3, 5, 0), (1, 6, 2), (2, 6, 3), (5, 2, 0)]
)
def test_causal(query, key, offset):
    expected = [[k <= q + offset for k in range(key)] for q in range(query)]
    assert array_of(causal_mask(query, key, offset))[0, 0].tolist() == expected


def test_all_masks_apply():
    one, two, three = np.random.default_rng(1).random((3, 2, 1, 3, 4)) > 0.3
    found = combine_masks(None, one, None, two, three[:, :, :1])
    np.testing.assert_array_equal(array_of(found), one & two & three[:, :, :1])
    assert combine_masks(None, None) is None
