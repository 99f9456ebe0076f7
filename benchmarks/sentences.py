"""Sentences to translate."""

import itertools
import sys

from keras_transformer import corpora


def sentences(name, count):
    """Return source sentences of a corpus, its held-out ones first.

    Args:
        name: "tatoeba", or "toy", which needs no network and takes its place if it
            cannot be downloaded.
        count: how many; they repeat if the corpus has fewer.
    """
    corpus = _corpus(name)
    splits = itertools.chain(corpus.test, corpus.validation, corpus.train)
    held = [source for source, _ in itertools.islice(splits, count)]
    return list(itertools.islice(itertools.cycle(held), count))


def _corpus(name):
    if name == "tatoeba":
        try:
            return corpora.tatoeba("es")
        except RuntimeError as error:
            print(f"The toy corpus instead of tatoeba: {error}", file=sys.stderr)
    return corpora.toy(4000)


def sentences_of_lengths(name, tokenizer, lengths):
    """Return a text for each number of tokens, put together from a corpus's words.

    A word may be several tokens, so that a text may have a few fewer.
    """
    words = " ".join(sentences(name, 200)).split()
    return [_text_of(words[number:], tokenizer, n) for number, n in enumerate(lengths)]


def _text_of(words, tokenizer, tokens):
    counts = (len(tokenizer(" ".join(words[:n]))) for n in range(2, len(words)))
    fitting = sum(1 for _ in itertools.takewhile(lambda count: count <= tokens, counts))
    return " ".join(words[: fitting + 1])
