"""From text to batches: reading pairs, corpora, tokenizers and `tf.data`."""

from keras_transformer.text import corpora
from keras_transformer.text.corpus import Corpus
from keras_transformer.text.pair_reader import PairReader
from keras_transformer.text.pairs import read_pairs
from keras_transformer.text.tokenizer_training import train_tokenizer
from keras_transformer.text.translation_data import TranslationData

__all__ = [
    "Corpus",
    "PairReader",
    "TranslationData",
    "corpora",
    "read_pairs",
    "train_tokenizer",
]
