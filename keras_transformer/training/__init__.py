"""Losses, metrics, schedules and callbacks."""

from keras_transformer.training.bleu_callback import BleuCallback
from keras_transformer.training.checkpoint_averaging import CheckpointAveraging
from keras_transformer.training.corpus_scores import CorpusScores, corpus_scores
from keras_transformer.training.inverse_sqrt_schedule import InverseSqrtSchedule
from keras_transformer.training.perplexity import Perplexity
from keras_transformer.training.r_drop import RDrop
from keras_transformer.training.smoothed_cross_entropy import SmoothedCrossEntropy
from keras_transformer.training.token_accuracy import TokenAccuracy
from keras_transformer.training.token_masking import TokenMasking
from keras_transformer.training.training_backup import TrainingBackup
from keras_transformer.training.translation_preview import TranslationPreview

__all__ = [
    "BleuCallback",
    "CheckpointAveraging",
    "CorpusScores",
    "InverseSqrtSchedule",
    "Perplexity",
    "RDrop",
    "SmoothedCrossEntropy",
    "TokenAccuracy",
    "TokenMasking",
    "TrainingBackup",
    "TranslationPreview",
    "corpus_scores",
]
