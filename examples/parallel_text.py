"""Corpora and tokenizers of training runs, from files of parallel text."""

import math
import sys

from keras_hub.tokenizers import SentencePieceTokenizer

from keras_transformer import Corpus, read_pairs, train_tokenizer

PAIRS_FOR_TOKENIZER = 1_000_000


def read_corpus(folder, names, languages):
    """Read three sets as they are published.

    Pairs with a blank side are left out of the first two, and counted. A test set with
    one ends the program, since no score of it would be that of the published set.

    Args:
        folder: where the files are.
        names: names of the training, validation and test set.
        languages: endings of the source and target files, which `.gz` may follow.
    """
    sets = []
    for name in names:
        reader = read_pairs(*(parallel_file(folder, name, x) for x in languages))
        sets.append(tuple(reader))
        if reader.dropped:
            print(f"{name}: {reader.dropped:,} pairs with a blank side left out")
    if reader.dropped:
        sys.exit(f"The test set {names[-1]} has to have text in each line.")
    return Corpus(*sets, name=folder.name)


def parallel_file(folder, name, language):
    """Return the path of a file, or else of the same one compressed."""
    plain = folder / f"{name}.{language}"
    compressed = plain.with_name(f"{plain.name}.gz")
    for file in (plain, compressed):
        if file.exists():
            return file
    sys.exit(f"There is neither {plain} nor {compressed.name} beside it.")


def tokenizer_of(corpus, recipe, file):
    """Train the joint tokenizer of a recipe, or read that of an interrupted run."""
    if not file.exists():
        stride = math.ceil(len(corpus.train) / PAIRS_FOR_TOKENIZER)
        tokenizer = train_tokenizer(
            corpus.train[::stride], recipe.vocabulary_size, **recipe.tokenizer
        )
        unfinished = file.with_suffix(".unfinished")
        unfinished.write_bytes(tokenizer.proto)
        unfinished.replace(file)
    return SentencePieceTokenizer(proto=file.read_bytes())
