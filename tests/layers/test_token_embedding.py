import numpy as np
import pytest

from keras_transformer import TokenEmbedding
from tests.backends import array_of, assert_close

IDS = np.array([[3, 0, 5], [1, 1, 6]])


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
@pytest.mark.parametrize("scale", [False, True])
def test_formula(scale, dtype):
    layer = TokenEmbedding(7, 16, scale=scale)
    found = layer(IDS.astype(dtype))
    table = array_of(layer.embeddings)
    assert_close(found, table[IDS] * (4.0 if scale else 1.0))


def test_reversed_is_the_transpose_without_a_scale():
    layer = TokenEmbedding(7, 16)
    layer.build()
    x = np.random.default_rng(1).normal(size=(2, 3, 16)).astype("float32")
    assert_close(layer(x, reverse=True), x @ array_of(layer.embeddings).T)


def test_initial_vectors_and_logits_have_unit_variance():
    layer = TokenEmbedding(500, 64)
    vectors = array_of(layer(np.arange(500)[None]))
    assert vectors.std() == pytest.approx(1.0, abs=0.02)
    x = np.random.default_rng(1).normal(size=(1, 50, 64)).astype("float32")
    assert array_of(layer(x, reverse=True)).std() == pytest.approx(1.0, abs=0.05)


def test_mask_of_real_tokens():
    layer = TokenEmbedding(7, 16, mask_zero=True)
    assert array_of(layer.compute_mask(IDS)).tolist() == (IDS != 0).tolist()
    assert TokenEmbedding(7, 16).compute_mask(IDS) is None


def test_no_ids():
    assert TokenEmbedding(7, 16)(np.zeros((2, 0), "int32")).shape == (2, 0, 16)


@pytest.mark.parametrize(
    ("sizes", "error"),
    [
        ((0, 4), r"`vocabulary_size` must be an integer of at least 1.*: 0\."),
        ((4, 0), r"`hidden_dim` must be an integer of at least 1.*: 0\."),
        ((4.5, 4), r"`vocabulary_size` must be an integer of at least 1.*: 4\.5\."),
    ],
)
def test_errors(sizes, error):
    with pytest.raises(ValueError, match=error):
        TokenEmbedding(*sizes)
