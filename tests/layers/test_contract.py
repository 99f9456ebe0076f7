import keras
import numpy as np
import pytest

from keras_transformer.layers import (
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    LearnedPositionalEncoding,
    MultiHeadAttention,
    PositionalEncoding,
    Residual,
    TokenEmbedding,
)
from keras_transformer.layers.head_projection import HeadProjection
from tests.layers.check_layer import check_layer
from tests.layers.positions import Distance, Rotation

RNG = np.random.default_rng(7)
X = RNG.normal(size=(2, 5, 8)).astype("float32")
MEMORY = RNG.normal(size=(2, 3, 6)).astype("float32")
INITIAL = {
    "kernel_initializer": keras.initializers.RandomNormal(stddev=0.3, seed=3),
    "bias_initializer": keras.initializers.RandomNormal(stddev=0.2),
}
BLOCK = {
    "num_heads": 4,
    "intermediate_dim": 10,
    "dropout": 0.1,
    "attention_dropout": 0.2,
    "intermediate_dropout": 0.3,
    "stochastic_depth": 0.05,
    "activation": "gelu",
    "feed_forward": None,
    "normalize_first": True,
    "normalization": "rms",
    "layer_norm_epsilon": 1e-3,
    "use_bias": False,
    "num_key_value_heads": 2,
    "seed": 11,
    "attention": "dot_product",
    "window": 3,
    "query_key_norm": True,
    **INITIAL,
}
ATTENTION = {
    "num_heads": 4,
    "key_dim": 6,
    "value_dim": 3,
    "dropout": 0.1,
    "use_bias": False,
    "output_dim": 7,
    "num_key_value_heads": 2,
    "seed": 11,
    "attention": "dot_product",
    "window": 3,
    "query_key_norm": True,
    **INITIAL,
}
SCORES = {"return_attention_scores": True}
# Query 8x8, key and value 8x4 each (2 of 4 heads of width 2), output 8x8, two norms.
SELF = 64 + 32 + 32 + 64 + 4
CROSS = 64 + 24 + 24 + 64 + 4  # keys and values from a width of 6
FEED_FORWARD = 80 + 80
NORMS = 8


def test_multi_head_attention(tmp_path):
    options = {**ATTENTION, "position": Distance(0.25)}
    check_layer(
        MultiHeadAttention, options, (X, MEMORY),
        parameters=192 + 72 + 36 + 84 + 12,
        path=tmp_path, call=SCORES,
    )  # fmt: skip


def test_encoder_block(tmp_path):
    options = {**BLOCK, "position": Rotation(0.25)}
    number = SELF + FEED_FORWARD + 2 * NORMS
    check_layer(
        EncoderBlock, options, (X,), parameters=number, path=tmp_path, call=SCORES
    )


def test_decoder_block(tmp_path):
    options = {**BLOCK, "position": Distance(0.25), "cross_attention": True}
    number = SELF + CROSS + FEED_FORWARD + 3 * NORMS
    check_layer(
        DecoderBlock, options, (X, MEMORY), parameters=number, path=tmp_path,
        call=SCORES,
    )  # fmt: skip


def test_decoder_block_without_memory(tmp_path):
    options = {**BLOCK, "position": Rotation(0.25), "cross_attention": False}
    number = SELF + FEED_FORWARD + 2 * NORMS
    check_layer(DecoderBlock, options, (X,), parameters=number, path=tmp_path)


@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
def test_blocks_with_biases_and_layer_norms(kind):
    block = kind(2, 10)
    block.build(X.shape, *([MEMORY.shape] if kind is DecoderBlock else []))
    number = 4 * (64 + 8) + (80 + 10 + 80 + 8) + 2 * 16
    if kind is DecoderBlock:
        number += 2 * (64 + 8) + 2 * (48 + 8) + 16
    assert block.count_params() == number


def test_feed_forward(tmp_path):
    options = {
        "intermediate_dim": 10, "activation": "gelu", "dropout": 0.1,
        "use_bias": False, "seed": 11, **INITIAL,
    }  # fmt: skip
    check_layer(FeedForward, options, (X,), parameters=160, path=tmp_path)


def test_positional_encoding(tmp_path):
    options = {"max_wavelength": 100.0, "scale": 0.5}
    check_layer(PositionalEncoding, options, (X,), parameters=0, path=tmp_path)


def test_learned_positional_encoding(tmp_path):
    options = {"max_length": 5, "embeddings_initializer": "glorot_normal"}
    check_layer(LearnedPositionalEncoding, options, (X,), parameters=40, path=tmp_path)


def test_token_embedding(tmp_path):
    options = {
        "vocabulary_size": 9, "hidden_dim": 8, "scale": False, "mask_zero": True,
        "embeddings_initializer": keras.initializers.RandomUniform(seed=2),
    }  # fmt: skip
    ids = RNG.integers(0, 9, size=(2, 5)).astype("int32")
    check_layer(TokenEmbedding, options, (ids,), parameters=72, path=tmp_path)


def test_token_embedding_reversed(tmp_path):
    options = {
        "vocabulary_size": 9, "hidden_dim": 8, "scale": False, "mask_zero": True,
        "embeddings_initializer": "glorot_uniform",
    }  # fmt: skip
    call = {"reverse": True}
    check_layer(TokenEmbedding, options, (X,), parameters=72, path=tmp_path, call=call)


def test_residual(tmp_path):
    options = {
        "dropout": 0.1, "stochastic_depth": 0.2, "normalize_first": True,
        "normalization": "rms",
        "epsilon": 1e-3, "seed": 11,
    }  # fmt: skip
    # A pre-norm residual uses its norm in `enter`, so a call by itself trains nothing.
    check_layer(
        Residual, options, (X, X), parameters=8, path=tmp_path,
        fit_with={"normalize_first": False},
    )  # fmt: skip


def test_head_projection_is_registered():
    layer = HeadProjection("abc,cde->abde", output_shape=(None, 2, 3), bias_axes="de")
    serialized = keras.saving.serialize_keras_object(layer)
    assert serialized["registered_name"] == "keras_transformer>HeadProjection"
    back = keras.saving.deserialize_keras_object(serialized)
    assert back.get_config() == layer.get_config()
