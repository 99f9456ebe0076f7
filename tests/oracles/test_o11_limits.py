"""O11: what does not fit is refused with both numbers."""

import keras
import numpy as np
import pytest

from keras_transformer import (
    DecoderBlock,
    EncoderBlock,
    LearnedPositionalEncoding,
    MultiHeadAttention,
    TokenEmbedding,
    Transformer,
)
from tests.backends import BACKEND, array_of, compiled
from tests.models.small import inputs_of

WIDTH_10 = np.zeros((2, 3, 10), "float32")
needs_graph = pytest.mark.skipif(BACKEND == "torch", reason="compiles nothing here")


@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
def test_width_that_heads_do_not_divide(kind):
    inputs = (WIDTH_10,) * (1 if kind is EncoderBlock else 2)
    with pytest.raises(ValueError, match=r"num_heads=3, width=10"):
        kind(3, 16)(*inputs)


def test_width_that_heads_do_not_divide_in_a_model():
    with pytest.raises(ValueError, match=r"num_heads=3, width=10"):
        Transformer(20, hidden_dim=10, num_heads=3, num_layers=1)


@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock, MultiHeadAttention])
def test_no_heads(kind):
    with pytest.raises(ValueError, match=r"`num_heads` must be .* at least 1.*: 0\."):
        kind(0, 16)


def test_no_heads_in_a_model():
    with pytest.raises(ValueError, match=r"`num_heads` must be .* at least 1.*: 0\."):
        Transformer(20, num_heads=0)


@pytest.mark.parametrize("symbolic", [False, True])
def test_more_tokens_than_learned_positions(symbolic):
    layer = LearnedPositionalEncoding(max_length=4)
    x = np.zeros((2, 6, 8), "float32")
    x = keras.KerasTensor(x.shape) if symbolic else x
    with pytest.raises(ValueError, match=r"`max_length`=4. Received: length=6"):
        layer(x)


def test_more_steps_than_learned_positions():
    layer = LearnedPositionalEncoding(max_length=4)
    with pytest.raises(ValueError, match=r"`max_length`=4.*length=1, start_index=6"):
        layer(np.zeros((2, 1, 8), "float32"), start_index=6)


def test_learned_positions_of_a_model():
    model = Transformer(
        20, hidden_dim=8, num_heads=2, num_layers=1, intermediate_dim=8,
        position="learned", max_length=4,
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"`max_length`=4. Received: length=5"):
        model(inputs_of())
    with pytest.raises(ValueError, match=r"model's 4 positions. Received: 6"):
        model.start(inputs_of()["source_ids"][:, :4], max_length=6)


@needs_graph
def test_unknown_length_past_the_table_is_nan_or_an_error():
    layer = LearnedPositionalEncoding(max_length=4)
    layer.build((None, None, 8))
    assert np.isnan(step_past(layer)).all()


def step_past(layer):
    step = compiled(lambda x, i: layer(x, start_index=i))
    return array_of(step(np.zeros((2, 1, 8), "float32"), np.array(6, "int32")))


@pytest.mark.parametrize("ids", [[[1, 7]], [[1, -1]], [[-1, 7]]], ids=str)
def test_ids_outside_the_vocabulary(ids):
    layer = TokenEmbedding(4, 8)
    low, high = np.min(ids), np.max(ids)
    error = rf"`vocabulary_size`=4\). Received: ids from {low} to {high}\."
    with pytest.raises(ValueError, match=error):
        layer(np.array(ids))


@needs_graph
@pytest.mark.parametrize("ids", [[[1, 7]], [[1, -1]], [[1, 4]], [[-5, 1]]], ids=str)
@pytest.mark.parametrize("jit", [False, True])
def test_ids_outside_the_vocabulary_compiled(ids, jit):
    layer = TokenEmbedding(4, 8)
    layer.build()
    ids = np.array(ids, "int32")
    if BACKEND == "tensorflow" and not jit:
        import tensorflow as tf

        with pytest.raises(tf.errors.InvalidArgumentError, match="not in"):
            compiled(layer)(ids)
        return
    options = {"jit_compile": True} if BACKEND == "tensorflow" else {}
    output = array_of(compiled(layer, **options)(ids))
    wrong = (ids < 0) | (ids >= 4)
    assert np.isnan(output[wrong]).all()
    assert np.isfinite(output[~wrong]).all()


def test_ids_that_are_no_integers():
    with pytest.raises(ValueError, match=r"integer token ids.*dtype .*float32"):
        TokenEmbedding(4, 8)(np.zeros((1, 2), "float32"))
    with pytest.raises(ValueError, match=r'integer token ids.*`dtype="int32"`'):
        TokenEmbedding(4, 8)(keras.Input((None,)))
