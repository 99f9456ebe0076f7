"""Implicit masks of Keras are honoured, combined, and left alone."""

import keras
import numpy as np
import pytest

from keras_transformer import (
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    LearnedPositionalEncoding,
    MultiHeadAttention,
    PositionalEncoding,
    TokenEmbedding,
)
from tests.backends import array_of, assert_close, randomize

IDS = np.array([[0, 0, 3, 4, 5], [6, 7, 8, 0, 0]], "int32")
SOURCE_IDS = np.array([[3, 4, 0, 0], [0, 6, 7, 8]], "int32")
REAL, SOURCE_REAL = IDS != 0, SOURCE_IDS != 0
EXPLICIT = np.array([[1, 1, 1, 0, 1], [1, 0, 1, 1, 1]], bool)
SOURCE_EXPLICIT = np.array([[1, 0, 1, 1], [1, 1, 1, 0]], bool)
KINDS = {
    "ours": lambda: TokenEmbedding(10, 8, mask_zero=True),
    "keras": lambda: keras.layers.Embedding(10, 8, mask_zero=True),
}
each_embedding = pytest.mark.parametrize("kind", KINDS)
each_order = pytest.mark.parametrize("normalize_first", [False, True])


def bare(x):
    """The same numbers without a mask."""
    return keras.ops.convert_to_tensor(array_of(x))


def mask_of(x):
    mask = getattr(x, "_keras_mask", None)
    return None if mask is None else array_of(mask)


class Watched:
    """Masks of tensors, which must be the same objects at the end."""

    def __init__(self, *tensors):
        self.before = [(x, getattr(x, "_keras_mask", None)) for x in tensors]

    def check(self):
        for tensor, mask in self.before:
            assert getattr(tensor, "_keras_mask", None) is mask


@each_embedding
@each_order
def test_encoder_block(kind, normalize_first):
    x = KINDS[kind]()(IDS)
    block = EncoderBlock(2, 10, normalize_first=normalize_first)
    watched, plain = Watched(x), bare(x)
    implicit = block(x)
    assert_close(
        array_of(implicit)[REAL], array_of(block(plain, padding_mask=REAL))[REAL]
    )
    assert np.abs(array_of(implicit) - array_of(block(plain)))[REAL].max() > 1e-3
    both = array_of(block(x, padding_mask=EXPLICIT))
    expected = array_of(block(plain, padding_mask=EXPLICIT & REAL))
    assert_close(both[EXPLICIT & REAL], expected[EXPLICIT & REAL])
    allowed = np.tril(np.ones((2, 5, 5), bool))
    expected = array_of(block(plain, padding_mask=REAL, attention_mask=allowed))
    assert_close(array_of(block(x, attention_mask=allowed))[REAL], expected[REAL])
    watched.check()
    np.testing.assert_array_equal(mask_of(implicit), REAL)
    assert mask_of(plain) is None


@each_embedding
@each_order
def test_decoder_block(kind, normalize_first):
    embedding = KINDS[kind]()
    x, memory = embedding(IDS), embedding(SOURCE_IDS)
    block = DecoderBlock(2, 10, normalize_first=normalize_first)
    watched, plain = Watched(x, memory), (bare(x), bare(memory))
    implicit = block(x, memory)
    masks = {"padding_mask": REAL, "memory_padding_mask": SOURCE_REAL}
    expected = array_of(block(*plain, **masks))
    assert_close(array_of(implicit)[REAL], expected[REAL])
    for name in masks:
        without = array_of(block(*plain, **{**masks, name: None}))
        assert np.abs(without - expected)[REAL].max() > 1e-3
    explicit = {"padding_mask": EXPLICIT, "memory_padding_mask": SOURCE_EXPLICIT}
    together = {
        "padding_mask": EXPLICIT & REAL,
        "memory_padding_mask": SOURCE_EXPLICIT & SOURCE_REAL,
    }
    both = array_of(block(x, memory, **explicit))
    expected = array_of(block(*plain, **together))
    assert_close(both[EXPLICIT & REAL], expected[EXPLICIT & REAL])
    watched.check()
    np.testing.assert_array_equal(mask_of(implicit), REAL)


@each_embedding
def test_multi_head_attention(kind):
    embedding = KINDS[kind]()
    x, memory = embedding(IDS), embedding(SOURCE_IDS)
    key = embedding(SOURCE_IDS[::-1])
    layer = MultiHeadAttention(2, 4)
    watched = Watched(x, memory, key)
    masks = {"value_mask": SOURCE_REAL, "key_mask": SOURCE_REAL[::-1]}
    implicit, scores = layer(x, memory, key, return_attention_scores=True)
    expected = layer(bare(x), bare(memory), bare(key), query_mask=REAL, **masks)
    assert_close(implicit, expected)
    allowed = SOURCE_REAL & SOURCE_REAL[::-1]
    hidden = np.broadcast_to(~allowed[:, None, None], scores.shape)
    np.testing.assert_array_equal(array_of(scores)[hidden], 0.0)
    watched.check()
    np.testing.assert_array_equal(mask_of(implicit), REAL)


def test_depth_keeps_the_masks():
    embedding = TokenEmbedding(10, 8, mask_zero=True)
    encoders = [EncoderBlock(2, 10) for _ in range(3)]
    decoders = [DecoderBlock(2, 10) for _ in range(3)]

    def run(source, target, **masks):
        memory, x = source, target
        for block in encoders:
            memory = block(memory, padding_mask=masks.get("memory_padding_mask"))
        for block in decoders:
            x = block(x, memory, **masks)
        return array_of(x)

    source, target = embedding(SOURCE_IDS), embedding(IDS)
    watched = Watched(source, target)
    implicit = run(source, target)
    explicit = run(
        bare(source), bare(target), padding_mask=REAL, memory_padding_mask=SOURCE_REAL
    )
    assert_close(implicit[REAL], explicit[REAL], atol=2e-5)
    watched.check()


@pytest.mark.parametrize(
    "layer",
    [FeedForward(6), PositionalEncoding(), LearnedPositionalEncoding(5)],
    ids=lambda layer: type(layer).__name__,
)
def test_other_layers_pass_the_mask_on(layer):
    x = TokenEmbedding(10, 8, mask_zero=True)(IDS)
    watched = Watched(x)
    np.testing.assert_array_equal(mask_of(layer(x)), REAL)
    watched.check()


def test_functional_model_carries_masks():
    ids = keras.Input((None,), dtype="int32")
    x = PositionalEncoding()(TokenEmbedding(10, 8, mask_zero=True)(ids))
    x = EncoderBlock(2, 10)(EncoderBlock(2, 10)(x))
    model = randomize(keras.Model(ids, x))
    longer = np.pad(IDS, ((0, 0), (0, 3)))
    expected = array_of(model(IDS))[REAL]
    assert_close(array_of(model(longer))[:, :5][REAL], expected, atol=2e-5)
    predicted = model.predict(longer, verbose=0)[:, :5]
    assert_close(predicted[REAL], expected, atol=2e-5)


def test_embedding_without_mask_zero_marks_nothing():
    assert mask_of(TokenEmbedding(10, 8)(IDS)) is None
