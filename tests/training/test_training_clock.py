"""When something is due, with one step at a time and with several."""

import pytest

from keras_transformer.training.training_clock import TrainingClock


@pytest.mark.parametrize(
    ("every", "ends", "due"),
    [
        (2, range(6), [1, 3, 5]),
        (2, [2, 5, 8], [2, 5, 8]),  # three at a time: each passes a multiple of two
        (4, [2, 5, 8], [5, 8]),
        (7, [2, 5, 8], [8]),
        ("epoch", [2, 5, 8], []),
    ],
)
def test_due_where_a_multiple_has_been_passed(every, ends, due):
    clock = TrainingClock(every)
    clock.begin_epoch(0)
    assert [end for end in ends if clock.end_batch(end)] == due
    assert clock.steps == ends[-1] + 1
    assert clock.end_epoch(0) is (every == "epoch")


def test_steps_are_counted_over_epochs():
    clock = TrainingClock(4)
    found = []
    for epoch in range(3):
        clock.begin_epoch(epoch)
        found += [(epoch, batch) for batch in range(3) if clock.end_batch(batch)]
        assert clock.epoch_steps == 3
        clock.end_epoch(epoch)
    assert found == [(1, 0), (2, 1)]  # the fourth and the eighth of nine


def test_an_execution_that_ends_past_the_epoch_counts_what_there_is():
    clock = TrainingClock(5)
    clock.begin_epoch(0)
    assert not clock.end_batch(2, most=5)
    assert clock.end_batch(5, most=5)
    assert clock.steps == 5
