"""Small translators for tests: untrained, so quick, and as strict as trained ones."""

import functools

from keras_transformer import (
    BeamSearch,
    Transformer,
    Translator,
    corpora,
    train_tokenizer,
)

VOCABULARY_SIZE = 380


@functools.cache
def toy_corpus():
    return corpora.toy(200)


@functools.cache
def toy_tokenizer(vocabulary_size=VOCABULARY_SIZE):
    return train_tokenizer(toy_corpus().train, vocabulary_size)


def small_model(**options):
    size = {"num_layers": 2, "hidden_dim": 16, "num_heads": 2, "intermediate_dim": 24}
    return Transformer(VOCABULARY_SIZE, **{**size, **options})


def small_translator(**options):
    defaults = {"search": BeamSearch(num_beams=3), "max_length": 24, "batch_size": 4}
    return Translator(small_model(), toy_tokenizer(), **{**defaults, **options})


def sentences(count=9):
    return [source for source, _ in toy_corpus().train[:count]]
