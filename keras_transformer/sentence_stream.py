"""From a stream of sentences to the hypotheses for each, in order."""

import itertools
import math

from keras_transformer.decoding.hypothesis import Hypothesis, read_hypotheses
from keras_transformer.text.sentence_batches import SentenceBatches, checked_sentences

WINDOW = 8192  # sentences that are sorted by length together

NOT_FOUND = Hypothesis("", score=-math.inf, log_probability=-math.inf, finished=False)


def hypotheses_of(
    sentences, generator, tokenizer, special_ids, decode, batch_size, max_length
):
    """Search for translations, a window of sentences after the other.

    Memory does not grow with their number. In a window the sentences are sorted into
    batches of about the same length.

    Args:
        sentences: an iterable of strings.
        generator: a `BatchGenerator`.
        tokenizer: tokenizer of the sentences.
        special_ids: `SpecialIds`.
        decode: a function of lists of ids to strings.
        batch_size: number of sentences translated together.
        max_length: largest number of source positions.

    Yields:
        A list of `Hypothesis` for each sentence, the best first.
    """
    stream = checked_sentences("sentences", sentences)
    first = 0
    while window := list(itertools.islice(stream, WINDOW)):
        batches = list(
            SentenceBatches(
                window,
                tokenizer,
                special_ids.end,
                batch_size,
                max_length,
                first,
            )
        )
        found = [[Hypothesis("")] for _ in window]
        results = generator(batch.ids for batch in batches)
        for batch, result in zip(batches, results, strict=True):
            own = read_hypotheses(result, special_ids, decode)
            for row, hypotheses in zip(batch.rows, own, strict=False):
                found[row] = hypotheses or [NOT_FOUND]
        yield from found
        first += len(window)
