"""The layers of Transformers and their ancestors, one public layer a file."""

from keras_transformer.layers.additive_attention import AdditiveAttention
from keras_transformer.layers.alibi_bias import AlibiBias
from keras_transformer.layers.class_token import ClassToken
from keras_transformer.layers.convolutional_decoder_block import (
    ConvolutionalDecoderBlock,
)
from keras_transformer.layers.convolutional_encoder_block import (
    ConvolutionalEncoderBlock,
)
from keras_transformer.layers.decoder_block import DecoderBlock
from keras_transformer.layers.encoder_block import EncoderBlock
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.gated_convolution import GatedConvolution
from keras_transformer.layers.learned_positional_encoding import (
    LearnedPositionalEncoding,
)
from keras_transformer.layers.mixture_of_experts import MixtureOfExperts
from keras_transformer.layers.multi_head_attention import MultiHeadAttention
from keras_transformer.layers.patch_embedding import PatchEmbedding
from keras_transformer.layers.positional_encoding import PositionalEncoding
from keras_transformer.layers.positional_encoding_2d import PositionalEncoding2D
from keras_transformer.layers.recurrent_decoder import RecurrentDecoder
from keras_transformer.layers.relative_position_bias import RelativePositionBias
from keras_transformer.layers.residual import Residual
from keras_transformer.layers.rotary_embedding import RotaryEmbedding
from keras_transformer.layers.stochastic_depth import StochasticDepth
from keras_transformer.layers.token_embedding import TokenEmbedding

__all__ = [
    "AdditiveAttention",
    "AlibiBias",
    "ClassToken",
    "ConvolutionalDecoderBlock",
    "ConvolutionalEncoderBlock",
    "DecoderBlock",
    "EncoderBlock",
    "FeedForward",
    "GatedConvolution",
    "LearnedPositionalEncoding",
    "MixtureOfExperts",
    "MultiHeadAttention",
    "PatchEmbedding",
    "PositionalEncoding",
    "PositionalEncoding2D",
    "RecurrentDecoder",
    "RelativePositionBias",
    "Residual",
    "RotaryEmbedding",
    "StochasticDepth",
    "TokenEmbedding",
]
