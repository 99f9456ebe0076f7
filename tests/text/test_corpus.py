import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.text import Corpus, read_pairs
from keras_transformer.text.splitting import comparison_key

pytestmark = pytest.mark.tensorflow_only  # nothing here depends on a backend


def many(count):
    return [(f"s{i}", f"t{i}") for i in range(count)]


def keys(split):
    return {comparison_key(text) for pair in split for text in pair}


def test_splits_are_exact_disjoint_and_in_order():
    corpus = Corpus.from_pairs(many(100), validation=7, test=0.11, seed=3)
    assert [len(s) for s in (corpus.train, corpus.validation, corpus.test)] == [
        82,
        7,
        11,
    ]
    together = corpus.train + corpus.validation + corpus.test
    assert sorted(together) == sorted(many(100))
    for split in (corpus.train, corpus.validation, corpus.test):
        assert list(split) == sorted(split, key=many(100).index)


sides = st.text("ab \u00a0\uff41", min_size=1, max_size=3).filter(str.strip)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(sides, sides), max_size=40), st.integers(0, 9))
def test_no_sentence_in_two_splits(pairs, seed):
    pairs = pairs + many(30)
    corpus = Corpus.from_pairs(pairs, validation=5, test=5, seed=seed)
    train, validation, test = map(keys, (corpus.train, corpus.validation, corpus.test))
    assert not train & validation
    assert not train & test
    assert not validation & test
    assert len(corpus.validation) == len(corpus.test) == 5  # single pairs are many
    total = len(corpus.train) + 10
    assert total == len(set(pairs))
    assert total + corpus.duplicates == len(pairs)


def test_a_sentence_of_one_language_in_the_other_counts_as_shared():
    pairs = [("No.", "Nada."), ("Nein.", "No."), *many(8)]
    for seed in range(20):
        corpus = Corpus.from_pairs(pairs, validation=0, test=5, seed=seed)
        assert (pairs[0] in corpus.test) == (pairs[1] in corpus.test)


@pytest.mark.parametrize("twin", ["\ufb01ne  day", "fine\u00a0day ", "fine day"])
def test_what_is_the_same_to_a_tokenizer_counts_as_shared(twin):
    pairs = [("fine day", "a"), (twin, "b"), *many(8)]
    for seed in range(20):
        corpus = Corpus.from_pairs(pairs, validation=0, test=5, seed=seed)
        assert (pairs[0] in corpus.test) == (pairs[1] in corpus.test)


def test_large_groups_are_trained_on():
    star = [("Run!", f"t{i}") for i in range(100, 115)]
    for seed in range(40):
        corpus = Corpus.from_pairs(star + many(30), validation=0, test=20, seed=seed)
        assert not keys(star) & keys(corpus.test)


def test_duplicates_and_blanks_are_counted():
    pairs = [*many(4), ("s0", "t0"), ("s0", "t0"), (" ", "x"), ("y", "")]
    corpus = Corpus.from_pairs(pairs, validation=0, test=0)
    assert corpus.train == tuple(many(4))
    assert (corpus.duplicates, corpus.blank) == (2, 2)


def test_what_a_reader_has_dropped_counts_as_blank(tmp_path):
    file = tmp_path / "pairs.tsv"
    file.write_text("a\tb\n\tc\nd\t\na\tb\n")
    corpus = Corpus.from_pairs(read_pairs(file), validation=0, test=0)
    assert (corpus.train, corpus.blank, corpus.duplicates) == ((("a", "b"),), 2, 1)


def test_seed_decides():
    splits = [
        Corpus.from_pairs(many(50), validation=5, test=5, seed=seed).test
        for seed in (0, 0, 1)
    ]
    assert splits[0] == splits[1] != splits[2]


def test_splits_do_not_depend_on_the_hash_seed():
    code = (
        "from keras_transformer.text import Corpus\n"
        "pairs = [(f's{i % 37}', f't{i}') for i in range(80)]\n"
        "c = Corpus.from_pairs(pairs, validation=5, test=5)\n"
        "import sys; sys.stdout.write(repr((c.validation, c.test, c.references())))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_references_collects_all_targets_of_each_source():
    pairs = [("a b c", "1"), ("a b", "2"), ("a b c", "3"), ("a", "4"), ("a b", "5")]
    corpus = Corpus(train=many(1), test=pairs)
    sources, references = corpus.references()
    assert dict(zip(sources, references, strict=True)) == {
        "a b c": ["1", "3"],
        "a b": ["2", "5"],
        "a": ["4"],
    }
    assert sorted(corpus.references(max_words=2)[0]) == ["a", "a b"]
    assert corpus.references(limit=2)[0] == sources[:2]


def test_references_are_a_sample_drawn_by_the_seed():
    orders = [Corpus(train=many(60), seed=s).references("train")[0] for s in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]
    assert orders[0][:10] != [f"s{i}" for i in range(10)]


def test_references_arguments():
    corpus = Corpus(train=many(2))
    assert corpus.references() == ([], [])
    with pytest.raises(ValueError, match=r"`split` must be .* Received: 'dev'"):
        corpus.references("dev")
    with pytest.raises(ValueError, match=r"`limit` must be at least 1\. Received: 0"):
        corpus.references(limit=0)
    with pytest.raises(ValueError, match="`max_words` must be at least 1"):
        corpus.references(max_words=0)


@pytest.mark.parametrize("pairs", [[], [(" ", "x")]])
def test_empty_corpus(pairs):
    with pytest.raises(
        ValueError, match="`pairs` must hold at least one pair with text"
    ):
        Corpus.from_pairs(pairs)
    with pytest.raises(ValueError, match="`train` must hold at least one pair"):
        Corpus(train=[])


@pytest.mark.parametrize("element", ["ab", ("a",), ("a", 1), ("a", "b", "c"), None])
def test_elements_must_be_pairs_of_strings(element):
    with pytest.raises(ValueError, match=r"`pairs` must hold pairs .* at index 1: "):
        Corpus.from_pairs([("a", "b"), element])
    with pytest.raises(ValueError, match=r"`test` must hold pairs .* at index 0: "):
        Corpus(train=many(1), test=[element])


@pytest.mark.parametrize("size", [-1, 1.0, 1.5, -0.1, True, "1"])
def test_sizes_are_checked(size):
    with pytest.raises(ValueError, match="`validation` must be a fraction in"):
        Corpus.from_pairs(many(9), validation=size)


def test_sizes_must_leave_something_to_train_on():
    with pytest.raises(
        ValueError, match="validation=5, test=4, which take 9 of 9 pairs"
    ):
        Corpus.from_pairs(many(9), validation=5, test=4)


@pytest.mark.parametrize("size", [3, 0.25])
def test_one_group_cannot_be_split(size):
    star = [("Run!", f"t{i}") for i in range(9)]
    with pytest.raises(ValueError, match=r"`test` must be a size .* only 0 could be"):
        Corpus.from_pairs(star, validation=0, test=size)


def test_sizes_are_met_as_nearly_as_groups_allow():
    pairs = [(f"s{i // 4}", f"t{i}") for i in range(40)]
    corpus = Corpus.from_pairs(pairs, validation=0.1, test=7)
    assert [len(corpus.validation), len(corpus.test)] == [4, 4]
    with pytest.raises(ValueError, match=r"`test` must be .* only 0 could be kept"):
        Corpus.from_pairs(pairs, validation=0, test=3)


def test_repr_and_details():
    corpus = Corpus.from_pairs(many(9), validation=1, test=1, name="x", licence="CC0")
    assert repr(corpus) == "Corpus(name='x', train=7, validation=1, test=1)"
    assert corpus.licence == "CC0"
