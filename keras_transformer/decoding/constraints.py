"""Tokens that a search may not generate."""

import dataclasses

import numpy as np
from keras import ops

from keras_transformer.decoding.prompt import check_natural_number
from keras_transformer.decoding.scoring import IMPOSSIBLE


@dataclasses.dataclass(frozen=True)
class Constraints:
    """Takes forbidden tokens out of the candidates.

    A forbidden token's logit becomes `-inf`, for the choice only: probabilities are
    those of the model before, so that scores stay its log-probabilities. The pad
    token is always forbidden.

    Attributes:
        min_length: int, number of tokens that must be generated before the end
            token may be (so that a finished hypothesis has a length, which counts
            the end, of at least `min_length + 1`).
        no_repeat_ngram: int, size of the n-grams that may occur once only in a
            hypothesis (its prefix included); 0 allows all.
        banned_tokens: tuple of ints.

    Raises:
        ValueError: for a value below 0, or one that is no integer.
    """

    min_length: int = 0
    no_repeat_ngram: int = 0
    banned_tokens: tuple = ()

    def __post_init__(self):
        check_natural_number("min_length", self.min_length)
        check_natural_number("no_repeat_ngram", self.no_repeat_ngram)
        for token in self.banned_tokens:
            check_natural_number("banned_tokens", token)

    def apply(self, logits, ids, index, prompt):
        """Sets the forbidden tokens' logits to `-inf`.

        Args:
            logits: float32 `(rows, vocabulary)`.
            ids: int32 `(rows, max_length)`, hypotheses that reach to `index`.
            index: int32 scalar.
            prompt: the `Prompt` of the search.

        Returns:
            float32 `(rows, vocabulary)`.

        Raises:
            ValueError: if `end_id` is banned, or it or a banned token lies outside
                the vocabulary.
        """
        vocabulary = logits.shape[-1]
        self._check_ids(vocabulary, prompt)
        tokens = np.arange(vocabulary)
        is_end = tokens == prompt.end_id
        never = np.isin(tokens, [prompt.pad_id, *self.banned_tokens])
        forbidden = ops.convert_to_tensor(never)
        if self.no_repeat_ngram:
            again = _repeats(ids, index, self.no_repeat_ngram, vocabulary)
            again = ops.logical_and(again, ops.convert_to_tensor(~is_end))
            forbidden = ops.logical_or(forbidden, again)
        logits = ops.where(forbidden, IMPOSSIBLE, logits)
        if prompt.minimums is None:
            return logits
        too_short = prompt.generated(index) < prompt.minimums  # (batch,)
        early_end = ops.logical_and(too_short[:, None], ops.convert_to_tensor(is_end))
        # The hypotheses of a source are neighbours: (batch, hypotheses, vocabulary).
        rows = ops.shape(logits)[0]
        logits = ops.reshape(logits, (ops.shape(too_short)[0], -1, vocabulary))
        logits = ops.where(early_end[:, None, :], IMPOSSIBLE, logits)
        return ops.reshape(logits, (rows, vocabulary))

    def _check_ids(self, vocabulary, prompt):
        if prompt.end_id in self.banned_tokens:
            raise ValueError(
                f"`banned_tokens` must not hold `end_id`, {prompt.end_id}. "
                f"Received: {self.banned_tokens}."
            )
        ids = {"end_id": [prompt.end_id], "banned_tokens": self.banned_tokens}
        for name, values in ids.items():
            outside = [value for value in values if value >= vocabulary]
            if outside:
                raise ValueError(
                    f"`{name}` must be below the vocabulary size of the logits, "
                    f"{vocabulary}. Received: {outside[0]}."
                )


def _repeats(ids, index, size, vocabulary):
    """Tokens that would complete an n-gram already seen: bool `(rows, vocabulary)`."""
    rows, length = ops.shape(ids)[0], ids.shape[1]
    ends = ops.arange(length, dtype="int32")
    # An old n-gram ends at `ends`; its first size - 1 tokens must equal the last
    # size - 1 tokens of the hypothesis.
    match = ops.logical_and(ends >= size - 1, ends <= index)  # (length,)
    match = ops.broadcast_to(match, (rows, length))
    for offset in range(1, size):
        earlier = ops.roll(ids, offset, axis=1)
        recent = ops.take(ids, ops.maximum(index + 1 - offset, 0), axis=1)
        match = ops.logical_and(match, earlier == recent[:, None])
    row = ops.broadcast_to(ops.arange(rows, dtype="int32")[:, None], (rows, length))
    token = ops.where(match, ids, ops.zeros_like(ids))
    places = ops.reshape(ops.stack([row, token], axis=-1), (rows * length, 2))
    seen = ops.reshape(ops.cast(match, "float32"), (rows * length,))
    return ops.scatter(places, seen, (rows, vocabulary)) > 0
