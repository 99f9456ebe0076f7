"""Losses, metrics and schedules."""

from keras_transformer.training.corpus_scores import CorpusScores, corpus_scores
from keras_transformer.training.inverse_sqrt_schedule import InverseSqrtSchedule
from keras_transformer.training.perplexity import Perplexity
from keras_transformer.training.smoothed_cross_entropy import SmoothedCrossEntropy
from keras_transformer.training.token_accuracy import TokenAccuracy
from keras_transformer.training.translation_preview import TranslationPreview

__all__ = [
    "CorpusScores",
    "InverseSqrtSchedule",
    "Perplexity",
    "SmoothedCrossEntropy",
    "TokenAccuracy",
    "TranslationPreview",
    "corpus_scores",
]
