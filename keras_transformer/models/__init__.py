"""Models assembled from the layers."""

from keras_transformer.models.convolutional_seq2seq import ConvolutionalSeq2Seq
from keras_transformer.models.recurrent_seq2seq import RecurrentSeq2Seq
from keras_transformer.models.sizes import (
    transformer_base,
    transformer_big,
    transformer_tiny,
)
from keras_transformer.models.transformer import Transformer

__all__ = [
    "ConvolutionalSeq2Seq",
    "RecurrentSeq2Seq",
    "Transformer",
    "transformer_base",
    "transformer_big",
    "transformer_tiny",
]
