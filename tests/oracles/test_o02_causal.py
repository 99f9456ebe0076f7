"""O2: causal attention sees nothing ahead, on every path."""

import numpy as np
import pytest

from keras_transformer import MultiHeadAttention
from tests.backends import array_of, assert_close

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 5, 8)).astype("float32")
X2 = X.copy()
X2[:, 3:] += 10
RANDOM = RNG.random((2, 5, 5)) > 0.4
CAUSAL = np.tril(np.ones((5, 5), bool))


def first(result):
    return array_of(result[0] if isinstance(result, tuple) else result)


@pytest.mark.parametrize("dropout", [0, 0.1])
@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.parametrize("mask", [None, RANDOM], ids=["no_mask", "random_mask"])
def test_positions_before_a_change_are_identical(dropout, scores, mask):
    layer = MultiHeadAttention(2, 4, dropout=dropout)
    options = {
        "use_causal_mask": True,
        "return_attention_scores": scores,
        "attention_mask": mask,
    }
    one, two = first(layer(X, X, **options)), first(layer(X2, X2, **options))
    np.testing.assert_array_equal(one[:, :3], two[:, :3])
    assert np.abs(one[:, 3:] - two[:, 3:]).max() > 0.1


def test_causal_and_explicit_mask_apply_together():
    layer = MultiHeadAttention(2, 4)
    both, scores = layer(
        X, X, attention_mask=RANDOM, use_causal_mask=True, return_attention_scores=True
    )
    assert_close(both, layer(X, X, attention_mask=RANDOM & CAUSAL))
    allowed = np.broadcast_to((RANDOM & CAUSAL)[:, None], scores.shape)
    np.testing.assert_array_equal(array_of(scores)[~allowed], 0.0)
    assert (array_of(scores)[allowed] > 0).all()


def test_all_five_masks_apply_together():
    layer = MultiHeadAttention(2, 4)
    query, value, key = RNG.random((3, 2, 5)) > 0.3
    output = layer(
        X, X, X2, query_mask=query, value_mask=value, key_mask=key,
        attention_mask=RANDOM, use_causal_mask=True,
    )  # fmt: skip
    together = query[:, :, None] & (value & key)[:, None, :] & RANDOM & CAUSAL
    assert_close(output, layer(X, X, X2, attention_mask=together))


def test_causal_with_more_keys_than_queries_counts_from_the_start():
    layer = MultiHeadAttention(2, 4)
    _, scores = layer(X[:, :3], X, use_causal_mask=True, return_attention_scores=True)
    np.testing.assert_array_equal(array_of(scores)[0, 0] > 0, CAUSAL[:3])
