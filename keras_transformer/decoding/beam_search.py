"""Beam search."""

import keras
from keras import ops

from keras_transformer.argument_checks import check_positive_integer
from keras_transformer.decoding.block_loop import loop_over_positions
from keras_transformer.decoding.hypothesis_pool import (
    add_finished,
    empty_pool,
    fill_free_places,
)
from keras_transformer.decoding.live_beams import Beams, extend_where, start_beams
from keras_transformer.decoding.scoring import (
    IMPOSSIBLE,
    best_reachable_score,
    length_penalty,
    log_probabilities,
)
from keras_transformer.decoding.search import Search
from keras_transformer.decoding.search_result import SearchResult
from keras_transformer.decoding.selection import flat_rows, pick, top


@keras.saving.register_keras_serializable(package="keras_transformer")
class BeamSearch(Search):
    """Keeps the `num_beams` most probable live hypotheses at every position.

    Of the `2 * num_beams` best continuations of the live hypotheses, those that end
    and stand among the first `num_beams` are finished: they move to a pool apart,
    with the score

        score = log_probability / ((5 + length) / 6) ** length_penalty

    (`length` counts the end, not the start) and are never extended or scored again.
    The best `num_beams` that don't end live on. The pool keeps the `n_best` best
    scores. A source is done when its pool is full and no live hypothesis can still
    reach the worst score in it; from then on its row doesn't change. The loop ends
    when all sources are done or `max_length` is reached. Hypotheses still alive at
    `max_length` are cut: they take the pool's free places only, after the finished
    ones, scored with their length so far and marked as not finished.

    With one beam and no length penalty this is greedy search.

    Args:
        num_beams: int, live hypotheses per source.
        length_penalty: float, the exponent above. 0 compares log-probabilities, a
            larger value favours longer hypotheses, a negative one shorter ones.
        n_best: int of at most `num_beams`, hypotheses returned per source.
        min_length: int, tokens that must be generated before the end may be.
        min_ratio: float, the same for each token of the source; the larger of the two
            numbers counts.
        max_ratio: float, tokens that may be generated, end included, for each token
            of the source; None for no such limit.
        no_repeat_ngram: int, size of the n-grams that may not occur twice in a
            hypothesis; 0 turns the rule off.
        banned_tokens: ids that are never generated.

    Raises:
        ValueError: for an option outside its range.

    Examples:
        >>> import numpy as np
        >>> from keras import ops
        >>> table = np.full((5, 5), 1e-9)
        >>> table[2, [1, 3]] = 0.505, 0.495
        >>> table[3, 4] = table[4, 1] = table[1, 1] = 1.0
        >>> def step(token_ids, state, index):
        ...     return ops.take(ops.log(table), token_ids, axis=0), state
        >>> search = BeamSearch(num_beams=2, length_penalty=0.6)
        >>> result = search(step, None, np.array([2]), max_length=6)
        >>> ops.convert_to_numpy(result.ids).tolist()
        [[[2, 3, 4, 1, 0, 0]]]

    Reference:
        Wu et al., 2016, "Google's Neural Machine Translation System", section 7.
    """

    def __init__(
        self,
        *,
        num_beams=4,
        length_penalty=0.6,
        n_best=1,
        min_length=0,
        min_ratio=0.0,
        max_ratio=None,
        no_repeat_ngram=0,
        banned_tokens=(),
    ):
        super().__init__(
            length_penalty=length_penalty,
            min_length=min_length,
            min_ratio=min_ratio,
            max_ratio=max_ratio,
            no_repeat_ngram=no_repeat_ngram,
            banned_tokens=banned_tokens,
        )
        check_positive_integer("num_beams", num_beams)
        check_positive_integer("n_best", n_best)
        if n_best > num_beams:
            raise ValueError(
                f"`n_best` must be at most `num_beams`, {num_beams}. "
                f"Received: {n_best}."
            )
        self.num_beams = num_beams
        self.n_best = n_best

    def get_config(self):
        """The options as plain values."""
        own = {"num_beams": self.num_beams, "n_best": self.n_best}
        return {**own, **super().get_config()}

    def _search(self, step, prompt):
        batch = ops.shape(prompt.ids)[0]

        def unfinished(index, beams, pool, leaves):
            is_live = ops.any(beams.log_probs > IMPOSSIBLE, axis=1)
            return ops.any(ops.logical_and(is_live, prompt.is_open(index)))

        def body(index, beams, pool, leaves):
            beams, pool, leaves = self._advance(
                step, prompt, index, beams, pool, leaves
            )
            return index + 1, beams, pool, leaves

        start = (
            ops.convert_to_tensor(prompt.first_index, dtype="int32"),
            start_beams(prompt, self.num_beams),
            empty_pool(prompt, self.n_best),
            step.start(batch, self.num_beams),
        )
        index, beams, pool, _ = loop_over_positions(
            unfinished,
            body,
            start,
            prompt.max_length,
            step.has_caches,
            prompt.first_index,
        )
        length = prompt.generated(ops.minimum(index, prompt.limits - 1))[:, None]
        cut = self._scored(beams.ids, beams.log_probs, length, finished=False)
        return fill_free_places(pool, cut, prompt)

    def _advance(self, step, prompt, index, beams, pool, leaves):
        ids, log_probs, parents, leaves = self._candidates(
            step, prompt, index, beams, leaves
        )
        tokens = ops.take(ids, index + 1, axis=2)
        ends = ops.logical_and(
            tokens == prompt.end_id, ops.logical_not(prompt.is_forced(index))
        )
        leading = ops.arange(ends.shape[1], dtype="int32") < self.num_beams
        finished = ops.logical_and(ends, leading)
        finished = ops.logical_and(finished, log_probs > IMPOSSIBLE)
        length = prompt.generated(index + 1)
        pool = add_finished(pool, self._scored(ids, log_probs, length, finished))
        log_probs, chosen = top(ops.where(ends, IMPOSSIBLE, log_probs), self.num_beams)
        rows = flat_rows(pick(parents, chosen), self.num_beams)
        leaves = step.move(leaves, rows)
        log_probs = self._without_losers(log_probs, pool, length, prompt)
        extended = Beams(pick(ids, chosen), log_probs)
        return extend_where(prompt.is_open(index), extended, beams), pool, leaves

    def _candidates(self, step, prompt, index, beams, leaves):
        """The best continuations: ids, log-probabilities, parents `(batch, count)`."""
        batch, width = ops.shape(beams.ids)[0], self.num_beams
        ids = ops.reshape(beams.ids, (batch * width, prompt.max_length))
        logits, leaves = step(ops.take(ids, index, axis=1), leaves, index)
        allowed = self.constraints.apply(logits, ids, index, prompt)
        allowed = prompt.force(allowed, ids, index)
        # The best of a source are among the best of each of its hypotheses.
        count = min(2 * width, logits.shape[-1])
        values, tokens = top(allowed, count)
        log_probs = log_probabilities(values, logits)
        log_probs = prompt.certain_if_forced(log_probs, values, index)
        log_probs = ops.reshape(log_probs, (batch, width, count))
        totals = beams.log_probs[:, :, None] + log_probs
        totals = ops.reshape(totals, (batch, width * count))
        totals = ops.where(prompt.is_open(index)[:, None], totals, IMPOSSIBLE)
        log_probs, places = top(totals, min(2 * width, width * count))
        parents = ops.floor_divide(places, count)
        tokens = pick(ops.reshape(tokens, (batch, width * count)), places)
        ids = prompt.write(pick(beams.ids, parents), tokens, index)
        return ids, log_probs, parents, leaves

    def _scored(self, ids, log_probs, length, finished):
        lengths = ops.zeros_like(log_probs, dtype="int32") + length
        return SearchResult(
            ids=ids,
            log_probs=log_probs,
            scores=log_probs / length_penalty(length, self.length_penalty),
            lengths=lengths,
            finished=ops.logical_and(finished, ops.ones_like(lengths, dtype="bool")),
        )

    def _without_losers(self, log_probs, pool, length, prompt):
        """Ends the search of the sources whose pool can't get better."""
        least = 0 if prompt.minimums is None else prompt.minimums
        reachable = best_reachable_score(
            log_probs[:, 0],
            ops.maximum(length, least) + 1,
            prompt.generated(prompt.limits - 1),
            self.length_penalty,
        )
        done = reachable <= pool.scores[:, -1]
        return ops.where(done[:, None], IMPOSSIBLE, log_probs)
