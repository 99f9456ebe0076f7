"""Models assembled from the layers."""

from keras_transformer.models.convolutional_seq2seq import ConvolutionalSeq2Seq
from keras_transformer.models.encoder import Encoder
from keras_transformer.models.image_classifier import ImageClassifier
from keras_transformer.models.language_model import LanguageModel
from keras_transformer.models.masked_language_model import MaskedLanguageModel
from keras_transformer.models.recurrent_seq2seq import RecurrentSeq2Seq
from keras_transformer.models.sizes import (
    transformer_base,
    transformer_big,
    transformer_tiny,
)
from keras_transformer.models.text_classifier import TextClassifier
from keras_transformer.models.transformer import Transformer

__all__ = [
    "ConvolutionalSeq2Seq",
    "Encoder",
    "ImageClassifier",
    "LanguageModel",
    "MaskedLanguageModel",
    "RecurrentSeq2Seq",
    "TextClassifier",
    "Transformer",
    "transformer_base",
    "transformer_big",
    "transformer_tiny",
]
