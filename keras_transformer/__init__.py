"""The Transformer of "Attention Is All You Need" as modular Keras 3 layers."""

from keras_transformer.decoding import BeamSearch, GreedySearch, Sampling
from keras_transformer.layers import (
    AlibiBias,
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    LearnedPositionalEncoding,
    MultiHeadAttention,
    PositionalEncoding,
    RelativePositionBias,
    RotaryEmbedding,
    TokenEmbedding,
)
from keras_transformer.models import (
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
    "AlibiBias",
    "BeamSearch",
    "BleuCallback",
    "CheckpointAveraging",
    "Corpus",
    "DecoderBlock",
    "EncoderBlock",
    "FeedForward",
    "GreedySearch",
    "InverseSqrtSchedule",
    "LearnedPositionalEncoding",
    "MultiHeadAttention",
    "Perplexity",
    "PositionalEncoding",
    "RDrop",
    "RelativePositionBias",
    "RotaryEmbedding",
    "Sampling",
    "SmoothedCrossEntropy",
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
