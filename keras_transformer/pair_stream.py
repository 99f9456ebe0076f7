"""From pairs of sentences to their scores and attention maps, in order."""

from functools import cached_property

import numpy as np

from keras_transformer.decoding import SequenceScorer
from keras_transformer.decoding.expected_tracing import expected_tracing
from keras_transformer.models.attention_scorer import AttentionScorer
from keras_transformer.text.sentence_batches import check_sentences, pair_batch
from keras_transformer.visualization import AttentionMaps


class PairStream:
    """What a model says of sentences and given translations.

    Args:
        model: a `Transformer`.
        tokenizers: the source's KerasHub tokenizer and the target's.
        special_ids: `SpecialIds`.
        max_length: largest number of positions of a side.
    """

    def __init__(self, model, tokenizers, special_ids, max_length):
        self._model = model
        self._tokenizers = tokenizers
        self._special_ids = special_ids
        self._max_length = max_length

    @cached_property
    def _scorer(self):
        return SequenceScorer(self._model)

    @cached_property
    def _attention(self):
        return AttentionScorer(self._model)

    def scores(self, source, target, batch_size):
        """Return the log-probability of each target, the end included."""
        scores = []
        for batch in self._batches(source, target, batch_size):
            with expected_tracing():
                scores += self._scorer.predict_on_batch(batch)["log_probs"].tolist()
        return scores

    def attention_maps(self, source, target):
        """Return `AttentionMaps` for each pair, computed one by one for their size."""
        maps = []
        for batch in self._batches(source, target, 1):
            labels = batch.pop("labels")[0]
            with expected_tracing():
                found = self._attention.predict_on_batch(batch)
            maps.append(self._maps(found, **batch, labels=labels))
        return maps

    def _batches(self, source, target, batch_size):
        source = check_sentences("source", source)
        target = check_sentences("target", target)
        if len(source) != len(target):
            raise ValueError(
                "`source` and `target` must have the same length. "
                f"Received: {len(source)} and {len(target)}."
            )
        for first in range(0, len(source), batch_size):
            yield pair_batch(
                source[first : first + batch_size],
                target[first : first + batch_size],
                self._tokenizers,
                self._special_ids,
                self._max_length,
                first,
            )

    def _maps(self, found, source_ids, target_ids, labels):
        own, other = self._tokenizers
        source = self._tokens(source_ids[0], own)
        target = self._tokens(target_ids[0], other)

        def real(name, queries, keys):
            return np.array(found[name][0, :, :, : len(queries), : len(keys)])

        return AttentionMaps(
            source,
            target,
            self._tokens(labels, other),
            encoder=real("encoder", source, source),
            decoder=real("decoder", target, target),
            cross=real("cross", target, source),
        )

    def _tokens(self, ids, tokenizer):
        real = ids[ids != self._special_ids.pad]
        return [str(tokenizer.id_to_token(int(token))) for token in real]
