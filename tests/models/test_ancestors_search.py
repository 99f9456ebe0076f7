"""Searches over the recurrent and the convolutional model against plain loops."""

import numpy as np
import pytest
from keras import ops

from keras_transformer.decoding import (
    BeamSearch,
    GreedySearch,
    Sampling,
    SequenceGenerator,
)
from tests.backends import array_of, randomize
from tests.decoding.tables import plain_beam_search
from tests.models.ancestors import KINDS
from tests.models.small import inputs_of

VOCABULARY, LIMIT = 8, 6
SOURCE = np.array([[3, 4, 5, 0], [6, 7, 3, 1], [5, 1, 0, 0]], "int32")


class WholeModel:
    """Log-probabilities after a prefix, as a table whose rows are computed if asked.

    A prefix is a number with its tokens as digits.
    """

    shape = (None, VOCABULARY)

    def __init__(self, model, source):
        self.model, self.source, self.rows = model, source[None], {}

    def after(self, ids):
        key = tuple(ids)
        if key not in self.rows:
            # One shape, compiled once: what comes later does not matter.
            target = np.array([[*ids, *[0] * (LIMIT - len(ids))]], "int32")
            logits = self.model.predict_on_batch(inputs_of(self.source, target))
            self.rows[key] = array_of(ops.log_softmax(logits[0, len(ids) - 1]))
        return self.rows[key]

    def __getitem__(self, place):
        prefix, token = place
        digits = []
        while prefix:
            prefix, digit = divmod(prefix, VOCABULARY)
            digits.insert(0, digit)
        return self.after(digits)[token]


# Weights with which some searches end before the limit and some don't.
SEEDS = {"lstm": 6, "convolutional": 3}
TWO = pytest.mark.parametrize("kind", SEEDS)


def small(kind):
    options = {"target_vocabulary_size": VOCABULARY, "num_layers": 1}
    return randomize(KINDS[kind](**options), scale=0.45, seed=SEEDS[kind])


def found(model, search):
    """Fields of the result, compiled by `predict_on_batch`."""
    generator = SequenceGenerator(model, search, LIMIT)
    return generator.predict_on_batch(SOURCE)


@TWO
def test_searches_equal_loops_over_the_whole_model(kind):
    model = small(kind)
    greedy = found(model, GreedySearch())
    beams = found(model, BeamSearch(num_beams=3, length_penalty=0.6, n_best=2))
    for row in range(len(SOURCE)):
        whole, ids = WholeModel(model, SOURCE[row]), [2]
        while len(ids) < LIMIT and ids[-1] != 1:
            ids.append(1 + int(np.argmax(whole.after(ids)[1:])))
        assert greedy["ids"][row, 0, : len(ids)].tolist() == ids
        assert not greedy["ids"][row, 0, len(ids) :].any()
        expected = plain_beam_search(
            whole, num_beams=3, alpha=0.6, n_best=2, limit=LIMIT
        )
        assert expected  # some hypothesis ends, or nothing is compared
        for place, (score, ids) in enumerate(expected):
            assert beams["ids"][row, place, : len(ids)].tolist() == ids
            assert beams["scores"][row, place] == pytest.approx(score, abs=1e-4)
            assert beams["finished"][row, place]


@TWO
def test_sampling_draws_what_the_model_gives(kind):
    model = small(kind)
    result = found(model, Sampling(seed=3))
    for row in range(len(SOURCE)):
        whole, total = WholeModel(model, SOURCE[row]), 0.0
        ids = result["ids"][row, 0, : result["lengths"][row, 0] + 1].tolist()
        for i in range(1, len(ids)):
            total += float(whole.after(ids[:i])[ids[i]])
        assert result["log_probs"][row, 0] == pytest.approx(total, abs=1e-3)
    assert len({tuple(row) for row in result["ids"][:, 0].tolist()}) > 1
