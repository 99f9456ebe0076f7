"""The Transformer's layers, one public layer a file."""

from keras_transformer.layers.alibi_bias import AlibiBias
from keras_transformer.layers.decoder_block import DecoderBlock
from keras_transformer.layers.encoder_block import EncoderBlock
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.learned_positional_encoding import (
    LearnedPositionalEncoding,
)
from keras_transformer.layers.multi_head_attention import MultiHeadAttention
from keras_transformer.layers.positional_encoding import PositionalEncoding
from keras_transformer.layers.relative_position_bias import RelativePositionBias
from keras_transformer.layers.residual import Residual
from keras_transformer.layers.rotary_embedding import RotaryEmbedding
from keras_transformer.layers.token_embedding import TokenEmbedding

__all__ = [
    "AlibiBias",
    "DecoderBlock",
    "EncoderBlock",
    "FeedForward",
    "LearnedPositionalEncoding",
    "MultiHeadAttention",
    "PositionalEncoding",
    "RelativePositionBias",
    "Residual",
    "RotaryEmbedding",
    "TokenEmbedding",
]
