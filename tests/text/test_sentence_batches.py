"""Batches of sentences to translate."""

import numpy as np

from keras_transformer.text.sentence_batches import SentenceBatches, pair_batch
from keras_transformer.text.special_ids import SpecialIds


class Letters:
    """One id a letter, from 3 on."""

    def tokenize(self, texts):
        return [[ord(letter) - 94 for letter in text.strip()] for text in texts]


def test_each_sentence_is_in_one_batch_with_its_end_and_padding():
    sentences = ["abc", "", "a" * 20, " ", "b", "c" * 7, "d" * 8]
    batches = SentenceBatches(sentences, Letters(), end_id=1, batch_size=2)
    seen = {}
    for batch in batches:
        for row, ids in zip(batch.rows, batch.ids, strict=False):
            seen[int(row)] = ids
    assert sorted(seen) == [0, 2, 4, 5, 6]
    assert seen[0].tolist() == [3, 4, 5, 1, 0, 0, 0, 0]
    assert seen[5].tolist() == [5] * 7 + [1]
    assert seen[2].tolist() == [3] * 20 + [1] + [0] * 11
    assert len(batches) == len(list(batches))


def test_shapes_are_powers_of_two_and_spare_rows_repeat_the_last():
    sentences = ["a" * (1 + i % 40) for i in range(100)]
    batches = list(SentenceBatches(sentences, Letters(), end_id=1, batch_size=16))
    for batch in batches:
        rows, width = batch.ids.shape
        assert rows & (rows - 1) == width & (width - 1) == 0
        assert len(batch.rows) <= rows <= 16
        spare = batch.ids[len(batch.rows) :]
        np.testing.assert_array_equal(
            spare, np.tile(batch.ids[len(batch.rows) - 1], (len(spare), 1))
        )
        # No sentence in it would fit in half the width.
        real = (batch.ids > 0).sum(axis=1)
        assert (real > width // 2).all() or width == 8
    widths = [batch.ids.shape[1] for batch in batches]
    assert widths == sorted(widths, reverse=True)


def test_no_sentences_give_no_batches():
    assert list(SentenceBatches([], Letters(), end_id=1, batch_size=2)) == []
    assert list(SentenceBatches(["", "\n"], Letters(), end_id=1, batch_size=2)) == []


def test_pairs_are_laid_out_as_for_training():
    batch = pair_batch(["ab", ""], ["c", "de"], (Letters(), Letters()), SpecialIds())
    assert batch["source_ids"][:, :4].tolist() == [[3, 4, 1, 0], [1, 0, 0, 0]]
    assert batch["target_ids"][:, :4].tolist() == [[2, 5, 0, 0], [2, 6, 7, 0]]
    assert batch["labels"][:, :4].tolist() == [[5, 1, 0, 0], [6, 7, 1, 0]]
