"""The Transformer's layers, one public layer a file."""

from keras_transformer.layers.class_token import ClassToken
from keras_transformer.layers.decoder_block import DecoderBlock
from keras_transformer.layers.encoder_block import EncoderBlock
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.learned_positional_encoding import (
    LearnedPositionalEncoding,
)
from keras_transformer.layers.multi_head_attention import MultiHeadAttention
from keras_transformer.layers.patch_embedding import PatchEmbedding
from keras_transformer.layers.positional_encoding import PositionalEncoding
from keras_transformer.layers.positional_encoding_2d import PositionalEncoding2D
from keras_transformer.layers.residual import Residual
from keras_transformer.layers.token_embedding import TokenEmbedding

__all__ = [
    "ClassToken",
    "DecoderBlock",
    "EncoderBlock",
    "FeedForward",
    "LearnedPositionalEncoding",
    "MultiHeadAttention",
    "PatchEmbedding",
    "PositionalEncoding",
    "PositionalEncoding2D",
    "Residual",
    "TokenEmbedding",
]
