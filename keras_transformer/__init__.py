"""The Transformer of "Attention Is All You Need" as modular Keras 3 layers."""

from keras_transformer.decoding import BeamSearch, GreedySearch, Sampling
from keras_transformer.layers import (
    AdditiveAttention,
    ConvolutionalDecoderBlock,
    ConvolutionalEncoderBlock,
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    GatedConvolution,
    LearnedPositionalEncoding,
    MixtureOfExperts,
    MultiHeadAttention,
    PositionalEncoding,
    RecurrentDecoder,
    StochasticDepth,
    TokenEmbedding,
)
from keras_transformer.models import (
    ConvolutionalSeq2Seq,
    RecurrentSeq2Seq,
    Transformer,
    transformer_base,
    transformer_big,
    transformer_tiny,
)
from keras_transformer.text import (
    Corpus,
    TranslationData,
    corpora,
    read_pairs,
    train_tokenizer,
)
from keras_transformer.training import (
    BleuCallback,
    CheckpointAveraging,
    InverseSqrtSchedule,
    Perplexity,
    RDrop,
    SmoothedCrossEntropy,
    TokenAccuracy,
    TrainingBackup,
    TranslationPreview,
)
from keras_transformer.translator import Translator

__version__ = "0.1.0"

__all__ = [
    "AdditiveAttention",
    "BeamSearch",
    "BleuCallback",
    "CheckpointAveraging",
    "ConvolutionalDecoderBlock",
    "ConvolutionalEncoderBlock",
    "ConvolutionalSeq2Seq",
    "Corpus",
    "DecoderBlock",
    "EncoderBlock",
    "FeedForward",
    "GatedConvolution",
    "GreedySearch",
    "InverseSqrtSchedule",
    "LearnedPositionalEncoding",
    "MixtureOfExperts",
    "MultiHeadAttention",
    "Perplexity",
    "PositionalEncoding",
    "RDrop",
    "RecurrentDecoder",
    "RecurrentSeq2Seq",
    "Sampling",
    "SmoothedCrossEntropy",
    "StochasticDepth",
    "TokenAccuracy",
    "TokenEmbedding",
    "TrainingBackup",
    "Transformer",
    "TranslationData",
    "TranslationPreview",
    "Translator",
    "corpora",
    "read_pairs",
    "train_tokenizer",
    "transformer_base",
    "transformer_big",
    "transformer_tiny",
]
