"""What is no (batch, length, width) of vectors is refused by name."""

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
)

LAYERS = {
    "sinusoids": PositionalEncoding,
    "learned": lambda: LearnedPositionalEncoding(9),
    "feed-forward": lambda: FeedForward(8),
    "encoder": lambda: EncoderBlock(2, 8),
    "decoder": lambda: DecoderBlock(2, 8, cross_attention=False),
}


@pytest.mark.parametrize("shape", [(4,), (2, 4), (2, 3, 5, 4)])
@pytest.mark.parametrize("name", LAYERS)
def test_other_ranks_are_refused(name, shape):
    with pytest.raises(ValueError, match=r"`inputs` must have shape \(batch, length"):
        LAYERS[name]()(np.zeros(shape, "float32"))


@pytest.mark.parametrize("name", LAYERS)
def test_an_unknown_width_is_refused(name):
    with pytest.raises(ValueError, match="with a known width"):
        LAYERS[name]()(keras.Input((None, None)))


def test_attention_names_its_arguments():
    x = np.zeros((2, 3, 4), "float32")
    with pytest.raises(ValueError, match="`query` must have shape"):
        MultiHeadAttention(2, 4)(x[0], x)
    with pytest.raises(ValueError, match="`value` must have shape"):
        MultiHeadAttention(2, 4)(x, x[0])


@pytest.mark.parametrize("name", ["sinusoids", "learned"])
def test_positions_are_not_added_to_ids(name):
    with pytest.raises(ValueError, match="vectors, not token ids"):
        LAYERS[name]()(np.zeros((2, 3, 4), "int32"))


def test_decoding_needs_a_block_that_is_built():
    with pytest.raises(ValueError, match="must be built before `start`"):
        DecoderBlock(2, 8).start(np.zeros((2, 3, 4), "float32"), 5)
