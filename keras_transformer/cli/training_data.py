"""The sentence pairs and the tokenizer of a training run."""

import dataclasses
import math

from keras_transformer.cli.run_folder import TOKENIZER
from keras_transformer.text import corpora, train_tokenizer
from keras_transformer.text.corpus import Corpus
from keras_transformer.text.pairs import read_pairs
from keras_transformer.text.tokenizer_training import FewPiecesError
from keras_transformer.whole_folder import whole_file

VOCABULARY_SIZE = 8000
PAIRS_FOR_TOKENIZER = 1_000_000


def read_corpus(settings):
    """Read, fetch or generate the pairs that settings name."""
    share = settings.held_out
    split = {} if share is None else {"validation": share, "test": share}
    if settings.corpus:
        return _named_corpus(settings.corpus, split)
    pairs = (
        read_pairs(settings.pairs)
        if settings.pairs
        else read_pairs(settings.source, settings.target)
    )
    if settings.validation_pairs or settings.validation_source:
        held = (
            read_pairs(settings.validation_pairs)
            if settings.validation_pairs
            else read_pairs(settings.validation_source, settings.validation_target)
        )
        corpus = Corpus(tuple(pairs), tuple(held))
        return dataclasses.replace(corpus, blank=pairs.dropped + held.dropped)
    return Corpus.from_pairs(pairs, **split)


def _named_corpus(name, split):
    kind, _, language = name.partition(":")
    if kind == "tatoeba":
        return corpora.tatoeba(language or "es", **split)
    if name != "toy":
        raise ValueError(
            "`corpus` must be toy, or tatoeba: and the code of a language. "
            f"Received: {name}."
        )
    return corpora.toy(**split)


def left_out_in_words(corpus):
    """Say how many pairs were left out as blank or as duplicates, if any were."""
    counts = {"with a blank side": corpus.blank, "duplicates": corpus.duplicates}
    words = [f"{count:,} {kind}" for kind, count in counts.items() if count]
    return f"\nLeft out    {', '.join(words)}" if words else ""


def write_test(corpus, folder):
    """Write the pairs that were kept for a test, as two files beside the run."""
    if not corpus.test:
        return
    for side, name in enumerate(("source", "target")):
        text = "".join(f"{pair[side]}\n" for pair in corpus.test)
        with whole_file(folder / f"test.{name}") as file:
            file.write_bytes(text.encode())


def tokenizer_of(corpus, vocabulary_size, folder):
    """Train the tokenizer of a run, or read that of an interrupted one.

    Args:
        corpus: the `Corpus`.
        vocabulary_size: number of pieces; `None` for 8,000, or as many as there are.
        folder: the run's folder.
    """
    from keras_hub.tokenizers import SentencePieceTokenizer

    file = folder / TOKENIZER
    if not file.exists():
        stride = math.ceil(len(corpus.train) / PAIRS_FOR_TOKENIZER)
        tokenizer = _trained(corpus.train[::stride], vocabulary_size)
        with whole_file(file) as unfinished:
            unfinished.write_bytes(tokenizer.proto)
    return SentencePieceTokenizer(proto=file.read_bytes())


def _trained(pairs, vocabulary_size):
    try:
        return train_tokenizer(pairs, vocabulary_size or VOCABULARY_SIZE)
    except FewPiecesError as error:
        if vocabulary_size:
            raise
        return train_tokenizer(pairs, error.largest)
