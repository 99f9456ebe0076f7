"""The pool of a beam search's finished hypotheses."""

from keras import ops

from keras_transformer.decoding.scoring import IMPOSSIBLE
from keras_transformer.decoding.search_result import SearchResult
from keras_transformer.decoding.selection import pick, top


def empty_pool(prompt, count):
    """A pool of `count` free places per source, as a `SearchResult`."""
    batch = ops.shape(prompt.ids)[0]
    none = ops.full((batch, count), IMPOSSIBLE, dtype="float32")
    return SearchResult(
        ids=repeat_hypothesis(prompt.ids, count),
        log_probs=none,
        scores=none,
        lengths=ops.zeros((batch, count), dtype="int32"),
        finished=ops.zeros((batch, count), dtype="bool"),
    )


def repeat_hypothesis(ids, count):
    """`(batch, length)` to `(batch, count, length)`."""
    batch, length = ops.shape(ids)[0], ids.shape[1]
    return ops.broadcast_to(ids[:, None, :], (batch, count, length))


def add_finished(pool, candidates):
    """Keeps the best of the pool and the candidates, best first.

    Args:
        pool: `SearchResult` with `(batch, count)` places.
        candidates: `SearchResult` with any number of places; those that aren't
            finished are passed over.
    """
    scores = ops.where(candidates.finished, candidates.scores, IMPOSSIBLE)
    both = _join(pool, candidates._replace(scores=scores))
    _, chosen = top(both.scores, pool.scores.shape[1])
    return _at(both, chosen)


def fill_free_places(pool, cut, prompt):
    """Puts cut hypotheses into the pool's free places, after the finished ones.

    Args:
        pool: `SearchResult` with `(batch, count)` places, the free ones last.
        cut: `SearchResult` with at least `count` places, best first.
        prompt: the `Prompt`; its ids fill the places that stay free.
    """
    count = pool.scores.shape[1]
    taken = ops.sum(ops.cast(pool.finished, "int32"), axis=1, keepdims=True)
    place = ops.arange(count, dtype="int32")[None, :]
    taken = ops.cast(taken, "int32")
    source = ops.where(place < taken, place, count + place - taken)
    result = _at(_join(pool, cut), source)
    exists = result.log_probs > IMPOSSIBLE
    return result._replace(
        ids=ops.where(exists[..., None], result.ids, prompt.ids[:, None, :]),
        lengths=ops.where(exists, result.lengths, ops.zeros_like(result.lengths)),
    )


def _join(first, second):
    pairs = zip(first, second, strict=True)
    return SearchResult(*(ops.concatenate(pair, axis=1) for pair in pairs))


def _at(hypotheses, indices):
    return SearchResult(*(pick(values, indices) for values in hypotheses))
