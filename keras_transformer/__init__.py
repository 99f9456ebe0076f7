"""The Transformer of "Attention Is All You Need" as modular Keras 3 layers."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

# The command line answers `--help` before Keras and its backend are imported, which
# takes seconds; each command imports what it needs. Everywhere else all is imported at
# once, since Keras loads a saved model only if its classes are registered.
_PROGRAM = (getattr(sys, "argv", None) or [""])[0]  # an embedded Python may have none
_IS_COMMAND_LINE = Path(_PROGRAM).name.removesuffix(".exe") == "keras-transformer" or (
    _PROGRAM == "-m" and "keras_transformer.cli" in sys.orig_argv
)

if TYPE_CHECKING or not _IS_COMMAND_LINE:
    from keras_transformer.decoding import (
        BeamSearch,
        ContinuationGenerator,
        GreedySearch,
        Sampling,
    )
    from keras_transformer.layers import (
        AdditiveAttention,
        AlibiBias,
        ClassToken,
        ConvolutionalDecoderBlock,
        ConvolutionalEncoderBlock,
        DecoderBlock,
        EncoderBlock,
        FeedForward,
        GatedConvolution,
        LearnedPositionalEncoding,
        MixtureOfExperts,
        MultiHeadAttention,
        PatchEmbedding,
        PositionalEncoding,
        PositionalEncoding2D,
        RecurrentDecoder,
        RelativePositionBias,
        RotaryEmbedding,
        StochasticDepth,
        TokenEmbedding,
    )
    from keras_transformer.models import (
        ConvolutionalSeq2Seq,
        Encoder,
        ImageClassifier,
        LanguageModel,
        MaskedLanguageModel,
        RecurrentSeq2Seq,
        TextClassifier,
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
        TokenMasking,
        TrainingBackup,
        TranslationPreview,
    )
    from keras_transformer.translator import Translator

__version__ = "0.1.0"

__all__ = [
    "AdditiveAttention",
    "AlibiBias",
    "BeamSearch",
    "BleuCallback",
    "CheckpointAveraging",
    "ClassToken",
    "ContinuationGenerator",
    "ConvolutionalDecoderBlock",
    "ConvolutionalEncoderBlock",
    "ConvolutionalSeq2Seq",
    "Corpus",
    "DecoderBlock",
    "Encoder",
    "EncoderBlock",
    "FeedForward",
    "GatedConvolution",
    "GreedySearch",
    "ImageClassifier",
    "InverseSqrtSchedule",
    "LanguageModel",
    "LearnedPositionalEncoding",
    "MaskedLanguageModel",
    "MixtureOfExperts",
    "MultiHeadAttention",
    "PatchEmbedding",
    "Perplexity",
    "PositionalEncoding",
    "PositionalEncoding2D",
    "RDrop",
    "RecurrentDecoder",
    "RecurrentSeq2Seq",
    "RelativePositionBias",
    "RotaryEmbedding",
    "Sampling",
    "SmoothedCrossEntropy",
    "StochasticDepth",
    "TextClassifier",
    "TokenAccuracy",
    "TokenEmbedding",
    "TokenMasking",
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
