"""The loop of the searches that follow one hypothesis per source."""

from typing import Any, NamedTuple

from keras import ops

from keras_transformer.decoding.block_loop import loop_over_positions
from keras_transformer.decoding.scoring import (
    IMPOSSIBLE,
    length_penalty,
    log_probabilities,
)
from keras_transformer.decoding.search_result import SearchResult
from keras_transformer.decoding.selection import pick


class _Path(NamedTuple):
    ids: Any  # (batch, max_length)
    log_probs: Any  # (batch,)
    lengths: Any  # (batch,)
    finished: Any  # (batch,)

    def is_open(self):
        return ops.logical_and(
            ops.logical_not(self.finished), self.log_probs > IMPOSSIBLE
        )


def follow(step, prompt, constraints, choose, alpha):
    """Extends one hypothesis per source, token by token.

    Args:
        step: a `StepFunction`.
        prompt: a `Prompt`.
        constraints: `Constraints`.
        choose: `choose(logits, index) -> tokens`, from float32 `(batch, vocabulary)`,
            where a token that is not allowed has `-inf`, to int32 `(batch,)`.
        alpha: float, exponent of the length penalty.

    Returns:
        A `SearchResult` with `n_best` 1.
    """
    batch = ops.shape(prompt.ids)[0]
    path = _Path(
        prompt.ids,
        ops.zeros((batch,), dtype="float32"),
        ops.zeros((batch,), dtype="int32"),
        ops.zeros((batch,), dtype="bool"),
    )

    def unfinished(index, path, leaves):
        return ops.any(ops.logical_and(path.is_open(), prompt.is_open(index)))

    def body(index, path, leaves):
        tokens = ops.take(path.ids, index, axis=1)
        logits, leaves = step(tokens, leaves, index)
        allowed = constraints.apply(logits, path.ids, index, prompt)
        allowed = prompt.force(allowed, path.ids, index)
        tokens = choose(allowed, index)
        chosen = pick(allowed, tokens[:, None])
        gains = log_probabilities(chosen, logits)
        gains = prompt.certain_if_forced(gains, chosen, index)[:, 0]
        return index + 1, _extend(path, tokens, gains, index, prompt), leaves

    index = ops.convert_to_tensor(prompt.first_index, dtype="int32")
    state = index, path, step.start(batch)
    _, path, _ = loop_over_positions(
        unfinished,
        body,
        state,
        prompt.max_length,
        step.has_caches,
        prompt.first_index,
    )
    return _result(path, prompt, alpha)


def _extend(path, tokens, gains, index, prompt):
    is_open = ops.logical_and(path.is_open(), prompt.is_open(index))
    counts = ops.logical_and(is_open, ops.logical_not(prompt.is_forced(index)))
    ends = ops.logical_and(counts, tokens == prompt.end_id)
    tokens = ops.where(is_open, tokens, prompt.pad_id)
    return _Path(
        prompt.write(path.ids, tokens, index),
        path.log_probs + ops.where(is_open, gains, ops.zeros_like(gains)),
        path.lengths + ops.cast(counts, "int32"),
        ops.logical_or(path.finished, ends),
    )


def _result(path, prompt, alpha):
    exists = path.log_probs > IMPOSSIBLE
    lengths = ops.where(exists, path.lengths, ops.zeros_like(path.lengths))
    result = SearchResult(
        ids=ops.where(exists[:, None], path.ids, prompt.ids),
        log_probs=path.log_probs,
        scores=path.log_probs / length_penalty(lengths, alpha),
        lengths=lengths,
        finished=ops.logical_and(exists, path.finished),
    )
    return SearchResult(*(ops.expand_dims(value, 1) for value in result))
