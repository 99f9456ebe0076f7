"""The Marian model of the transformers library, with our weights, answers alike.

Its beam search also takes the ends among the `num_beams` best of `2 * num_beams`
continuations, and also keeps finished hypotheses apart. What differs:

- A score is divided by `length ** length_penalty`, ours by
  `((5 + length) / 6) ** length_penalty`; length counts the end in both. They agree
  at 0.
- `early_stopping=True` stops once `num_beams` have ended, even if a live one could
  win. `False` goes on while the best live one, scored at its present length, beats the
  worst of the `num_beams` kept. `"never"` assumes the largest length instead where the
  penalty is positive: this is the rule of ours, which keeps `n_best` and not
  `num_beams`. With a penalty of 0, `False` and `"never"` are the same.
- Hypotheses that are cut at `max_length` compete with finished ones; ours come after.
"""

import numpy as np
import pytest

from keras_transformer import BeamSearch, GreedySearch
from tests.backends import array_of, assert_close
from tests.interop.small_models import (
    LIMIT,
    random_model,
    random_sources,
    search_ids,
    trained_model,
    without_end,
)

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

SOURCES = random_sources(200, seed=7)


@pytest.fixture(scope="module")
def marian_model():
    from tests.interop.marian_weights import marian_model

    return marian_model


def generate(theirs, **options):
    ids = torch.tensor(SOURCES, dtype=torch.long, device="cpu")
    found = theirs.generate(
        input_ids=ids,
        attention_mask=(ids != 0).long(),
        max_length=LIMIT,
        do_sample=False,
        **options,
    )
    rows = [[index for index in row[1:] if index != 0] for row in found.tolist()]
    return [without_end(row) for row in rows]


@pytest.mark.parametrize("make", [random_model, trained_model])
def test_logits_are_the_same_with_padding(make, marian_model):
    model = make()
    rng = np.random.default_rng(3)
    targets = rng.integers(4, 60, size=(len(SOURCES), 7)).astype("int32")
    targets[:, 0] = model.start_id
    targets[::2, 5:] = model.pad_id
    source, target = (
        torch.tensor(ids, dtype=torch.long, device="cpu") for ids in (SOURCES, targets)
    )
    with torch.no_grad():
        expected = marian_model(model)(
            input_ids=source,
            attention_mask=(source != 0).long(),
            decoder_input_ids=target,
            decoder_attention_mask=(target != 0).long(),
        ).logits.numpy(force=True)
    found = model({"source_ids": SOURCES, "target_ids": targets})
    real = targets != model.pad_id
    assert_close(array_of(found)[real], expected[real], atol=1e-4)


def test_greedy_search_gives_the_same_ids(marian_model):
    model = trained_model()
    expected = generate(marian_model(model), num_beams=1)
    found, _ = search_ids(model, GreedySearch(), SOURCES)
    assert found == expected
    assert len({len(row) for row in found}) > 5


@pytest.mark.parametrize("early_stopping", [False, "never"])
def test_beam_search_gives_the_same_ids(early_stopping, marian_model):
    model = trained_model()
    expected = generate(
        marian_model(model),
        num_beams=4,
        length_penalty=0.0,
        early_stopping=early_stopping,
    )
    search = BeamSearch(num_beams=4, length_penalty=0.0)
    found, fields = search_ids(model, search, SOURCES)
    cut = np.array([len(row) >= LIMIT - 2 for row in expected])
    finished = np.flatnonzero(fields["finished"][:, 0] & ~cut)
    assert len(finished) > 150
    assert [found[row] for row in finished] == [expected[row] for row in finished]
    assert len({len(found[row]) for row in finished}) > 5
