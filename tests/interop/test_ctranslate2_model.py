"""Exported models translate in CTranslate2 as they do here."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import sentencepiece

from keras_transformer import BeamSearch, GreedySearch, LearnedPositionalEncoding
from keras_transformer.decoding.sequence_scorer import SequenceScorer
from keras_transformer.interop import export_ctranslate2
from tests.backends import array_of
from tests.interop.small_models import (
    LIMIT,
    random_model,
    random_sources,
    search_ids,
    tokenizers,
    trained_model,
)
from tests.layers.positions import Rotation

ctranslate2 = pytest.importorskip("ctranslate2")

SEARCHES = {1: GreedySearch(), 4: BeamSearch(num_beams=4, length_penalty=0.0)}
MODELS = {
    "paper": {},
    "pre-norm": {"normalize_first": True, "layer_norm_epsilon": 0.05},
    "learned": {"position": "learned", "max_length": 24},
    "no positions": {"position": None},
    "position layer": {"position": LearnedPositionalEncoding(24)},
    "two tables": {"tie_embeddings": "decoder", "normalize_first": True},
    "three tables": {"tie_embeddings": "none", "position": "learned", "max_length": 30},
    "two vocabularies": {"target_vocabulary_size": 64},
    "two untied": {"target_vocabulary_size": 64, "tie_embeddings": "none"},
    "gelu": {"activation": "gelu"},
    "silu, no bias": {"activation": "swish", "use_bias": False},
    "rms": {"normalization": "rms", "normalize_first": True},
    "rms post-norm": {"normalization": "rms"},
    "grouped heads": {"num_key_value_heads": 2},
    "one key head": {"num_key_value_heads": 1, "num_layers": (1, 3)},
    "more ids than pieces": {"target_vocabulary_size": 70},
    "other special ids": {"end_id": 2, "start_id": 1},
}
each_model = pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)


def exported(folder, model, **options):
    own, other = tokenizers()
    target = None if model.target_vocabulary_size == 60 else other
    export_ctranslate2(folder / "model", model, own, target, **options)
    return Engine(folder / "model")


def assert_same_scores(theirs, own):
    # CTranslate2's exponentials are approximate on some CPUs.
    np.testing.assert_allclose(theirs, own, rtol=5e-5, atol=1e-4)


class Engine:
    """CTranslate2 on ids; the pieces in between come from the folder's own files."""

    def __init__(self, folder):
        self.translator = ctranslate2.Translator(str(folder), intra_threads=1)
        self.source, self.target = (
            sentencepiece.SentencePieceProcessor(model_file=str(folder / name))
            for name in ("source.spm", "target.spm")
        )

    def pieces(self, source_ids, end_id=1):
        rows = [row[: list(row).index(end_id)] for row in source_ids.tolist()]
        return [[self.source.id_to_piece(index) for index in row] for row in rows]

    def search(self, source_ids, beams, end_id=1):
        results = self.translator.translate_batch(
            self.pieces(source_ids, end_id),
            beam_size=beams,
            length_penalty=0,
            min_decoding_length=0,
            max_decoding_length=LIMIT - 1,
            return_scores=True,
        )
        ids = [self._ids(result.hypotheses[0]) for result in results]
        return ids, [result.scores[0] for result in results]

    def _ids(self, pieces):
        added = [int(p.split()[1][:-1]) if " " in p else None for p in pieces]
        known = map(self.target.piece_to_id, pieces)
        return [a if a is not None else k for a, k in zip(added, known, strict=True)]


def sources_of(model):
    ids = random_sources()
    return np.where(ids == 1, model.end_id, ids) if model.end_id != 1 else ids


@pytest.mark.tensorflow_only  # weights are the same on all backends
@each_model
def test_greedy_and_beam_search_give_the_same_ids(options, tmp_path):
    model = random_model(**options)
    sources = sources_of(model)
    engine = exported(tmp_path, model)
    for beams, search in SEARCHES.items():
        expected, found = search_ids(model, search, sources)
        ids, scores = engine.search(sources, beams, model.end_id)
        finished, own = found["finished"][:, 0], found["log_probs"][:, 0]
        # There a hypothesis that is cut may win against finished ones, here it can't.
        at_limit = np.array([len(row) == LIMIT - 1 for row in ids])
        cut = at_limit & finished & (np.array(scores) > own)
        same = np.flatnonzero(~cut)
        assert len(same) > len(ids) // 2
        assert [ids[row] for row in same] == [expected[row] for row in same]
        assert_same_scores(np.array(scores)[same], own[same])


@pytest.mark.parametrize("normalize_first", [False, True])
def test_targets_of_trained_models_end_alike(normalize_first, tmp_path):
    options = {"normalize_first": True, "target_vocabulary_size": 64}
    model = trained_model(**options if normalize_first else {})
    sources = random_sources(200, seed=7)
    engine = exported(tmp_path, model)
    for beams, search in SEARCHES.items():
        expected, found = search_ids(model, search, sources)
        ids, scores = engine.search(sources, beams)
        # There hypotheses that are cut compete with finished ones.
        cut = np.array([len(row) == LIMIT - 1 for row in ids])
        finished = np.flatnonzero(found["finished"][:, 0] & ~cut)
        assert len(finished) > 150
        assert [ids[row] for row in finished] == [expected[row] for row in finished]
        own = found["log_probs"][:, 0]
        assert_same_scores(np.array(scores)[finished], own[finished])
        assert len({len(expected[row]) for row in finished}) > 5


@pytest.mark.tensorflow_only
@each_model
def test_given_targets_have_the_same_score(options, tmp_path):
    model = random_model(**options)
    sources = sources_of(model)
    engine = exported(tmp_path, model)
    rng = np.random.default_rng(5)
    targets = rng.integers(4, 60, size=(len(sources), 7)).astype("int32")
    column = np.ones((len(sources), 1), "int32")
    expected = SequenceScorer(model)(
        {
            "source_ids": sources,
            "target_ids": np.concatenate([column * model.start_id, targets], axis=1),
            "labels": np.concatenate([targets, column * model.end_id], axis=1),
        }
    )["log_probs"]
    results = engine.translator.score_batch(
        engine.pieces(sources, model.end_id),
        [
            [engine.target.id_to_piece(index) for index in row]
            for row in targets.tolist()
        ],
    )
    scores = [sum(result.log_probs) for result in results]
    assert_same_scores(scores, array_of(expected))


def test_text_in_text_out(tmp_path):
    model, tokenizer = random_model(seed=3), tokenizers()[0]
    engine = exported(tmp_path, model)
    texts = ["the dog sees a cat", "two birds", "a ☃ dog"]
    pieces = engine.source.encode(texts, out_type=str)
    results = engine.translator.translate_batch(
        pieces, beam_size=1, max_decoding_length=LIMIT - 1, min_decoding_length=0
    )
    found = [engine.target.decode(result.hypotheses[0]) for result in results]
    rows = [np.array([[*np.array(tokenizer(text)), 1]], "int32") for text in texts]
    assert 3 in rows[2]  # unknown, and so the same id on both sides
    ids = [search_ids(model, GreedySearch(), row)[0][0] for row in rows]
    assert found == [engine.target.decode(row) for row in ids]


def test_vocabularies_have_the_ids_of_the_tokenizers(tmp_path):
    exported(tmp_path, random_model(target_vocabulary_size=70))
    own, other = tokenizers()
    source = json.loads((tmp_path / "model/source_vocabulary.json").read_text())
    target = json.loads((tmp_path / "model/target_vocabulary.json").read_text())
    assert source == [own.id_to_token(index) for index in range(60)]
    assert target[:64] == [other.id_to_token(index) for index in range(64)]
    assert len(set(target)) == len(target) == 70


def test_int8_is_smaller_and_close(tmp_path):
    model = random_model()
    sizes, scores = [], []
    for name, quantization in (("whole", None), ("small", "int8")):
        (tmp_path / name).mkdir()
        engine = exported(tmp_path / name, model, quantization=quantization)
        weights = tmp_path / name / "model" / "model.bin"
        # The table of positions is never quantized.
        sizes.append(weights.stat().st_size - 4096 * 16 * 4)
        # Its products of integers can overflow without VNNI; these are of floats.
        folder = str(tmp_path / name / "model")
        translator = ctranslate2.Translator(folder, compute_type="float32")
        pieces = engine.pieces(random_sources())
        results = translator.score_batch(pieces, pieces)
        scores.append([np.mean(result.log_probs) for result in results])
    assert sizes[1] < 0.5 * sizes[0]
    assert 0 < np.abs(np.subtract(*scores)).max() < 0.25


def test_the_models_weights_stay_as_they_are(tmp_path):
    model = random_model()
    before = [array_of(weight).copy() for weight in model.weights]
    exported(tmp_path, model, quantization="int8")
    for weight, kept in zip(model.weights, before, strict=True):
        np.testing.assert_array_equal(array_of(weight), kept)


def refused(tmp_path, match, model=None, tokenizer=None, target=None, **options):
    with pytest.raises(ValueError, match=match):
        export_ctranslate2(
            tmp_path / "new" / "model",
            model or random_model(),
            tokenizer or tokenizers()[0],
            target,
            **options,
        )
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_expressed_is_refused(tmp_path):
    rotary = random_model(position=Rotation())
    refused(tmp_path, "`position` must be .*Rotation", rotary)
    refused(tmp_path, "`activation` .*'elu'", random_model(activation="elu"))
    refused(tmp_path, "`quantization` .*'int3'", quantization="int3")


def test_tokenizers_that_do_not_fit_are_refused(tmp_path):
    own, other = tokenizers()
    refused(tmp_path, "`tokenizer` .*SimpleNamespace", tokenizer=SimpleNamespace())
    refused(tmp_path, "`tokenizer` .* ids, 60.*64", tokenizer=other)
    refused(tmp_path, "`target_tokenizer` .* ids, 60.*64", tokenizer=own, target=other)


def test_another_model_is_refused(tmp_path):
    with pytest.raises(TypeError, match="`model` must be a `Transformer`"):
        export_ctranslate2(tmp_path / "model", SimpleNamespace(), tokenizers()[0])


def test_a_folder_that_exists_is_kept(tmp_path):
    exported(tmp_path, random_model())
    before = (tmp_path / "model" / "model.bin").read_bytes()
    with pytest.raises(FileExistsError, match="`path` must not exist yet"):
        exported(tmp_path, random_model(seed=1))
    assert (tmp_path / "model" / "model.bin").read_bytes() == before


def test_nothing_stays_of_an_export_that_fails(tmp_path, monkeypatch):
    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(ctranslate2.specs.TransformerSpec, "save", fail)
    with pytest.raises(OSError, match="disk full"):
        exported(tmp_path, random_model())
    assert not list(tmp_path.iterdir())
