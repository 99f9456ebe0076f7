"""Batches of sentences to translate."""

import numpy as np
import pytest

from keras_transformer.text.sentence_batches import SentenceBatches, pair_batch
from keras_transformer.text.special_ids import SpecialIds

pytestmark = pytest.mark.tensorflow_only  # nothing here depends on a backend


class Letters:
    """One id a letter, from 3 on."""

    def tokenize(self, texts):
        return [[ord(letter) - 94 for letter in text.strip()] for text in texts]


def test_each_sentence_is_in_one_batch_with_its_end_and_padding():
    sentences = ["abc", "", "a" * 20, " ", "b", "c" * 7, "d" * 8]
    batches = list(SentenceBatches(sentences, Letters(), end_id=1, batch_size=2))
    seen = {}
    for batch in batches:
        for row, ids in zip(batch.rows, batch.ids, strict=False):
            seen[int(row)] = ids
    assert sorted(seen) == [0, 2, 4, 5, 6]
    assert seen[0].tolist() == [3, 4, 5, 1] + [0] * 12
    assert seen[6].tolist() == [6] * 8 + [1] + [0] * 23
    assert seen[2].tolist() == [3] * 20 + [1] + [0] * 11
    assert [batch.rows.tolist() for batch in batches] == [[2, 6], [5, 0], [4]]


def test_shapes_are_few_and_spare_rows_repeat_the_last():
    sentences = ["a" * (1 + i % 40) for i in range(100)]
    batches = list(SentenceBatches(sentences, Letters(), end_id=1, batch_size=16))
    assert len(batches) == 7
    for batch in batches:
        rows, width = batch.ids.shape
        assert rows == 16
        spare = batch.ids[len(batch.rows) :]
        np.testing.assert_array_equal(
            spare, np.tile(batch.ids[len(batch.rows) - 1], (len(spare), 1))
        )
        longest = (batch.ids > 0).sum(axis=1).max()
        assert width == next(size for size in (16, 32, 64) if size >= longest)
    lengths = [(row > 0).sum() for batch in batches for row in batch.ids]
    assert lengths == sorted(lengths, reverse=True)


@pytest.mark.parametrize("sentences", [["abc"], ["", "abc", " "]])
def test_a_sentence_alone_needs_no_further_rows(sentences):
    (batch,) = SentenceBatches(sentences, Letters(), end_id=1, batch_size=16)
    assert batch.ids.shape == (1, 16)
    assert batch.rows.tolist() == [sentences.index("abc")]


def test_no_sentences_give_no_batches():
    assert list(SentenceBatches([], Letters(), end_id=1, batch_size=2)) == []
    assert list(SentenceBatches(["", "\n"], Letters(), end_id=1, batch_size=2)) == []


def test_pairs_are_laid_out_as_for_training():
    batch = pair_batch(["ab", ""], ["c", "de"], (Letters(), Letters()), SpecialIds())
    assert batch["source_ids"][:, :4].tolist() == [[3, 4, 1, 0], [1, 0, 0, 0]]
    assert batch["target_ids"][:, :4].tolist() == [[2, 5, 0, 0], [2, 6, 7, 0]]
    assert batch["labels"][:, :4].tolist() == [[5, 1, 0, 0], [6, 7, 1, 0]]
