"""Where a run of `fit` stands, and when something is due."""

from keras_transformer.argument_checks import check_positive_integer


class TrainingClock:
    """Count the batches of a run, from what Keras tells callbacks.

    Args:
        every: `"epoch"`, or a number of steps.

    Attributes:
        every: the same.
        steps: number of batches since the first epoch began.
        place: `(epoch, batch)` that ended last, with `None` for the batch at the end
            of an epoch; `None` before the first.

    Raises:
        ValueError: for another `every`.
    """

    def __init__(self, every: int | str = "epoch"):
        self.every = every
        self._steps_between = 0
        if every != "epoch":
            self._steps_between = check_positive_integer("every", every)
        self.steps = 0
        self.place = None
        self._epoch = 0
        self._before = 0

    @property
    def epoch_steps(self):
        """Number of batches of this epoch that have ended."""
        return self.steps - self._before

    def begin_epoch(self, epoch):
        """Note that an epoch begins."""
        self._epoch = epoch
        self._before = self.steps

    def end_batch(self, batch, most=None):
        """Note that a batch of the epoch ends.

        Args:
            batch: its number in the epoch. Numbers are left out where Keras runs
                several steps at once.
            most: largest number of batches that the epoch has, if that is known.

        Returns:
            Whether something is due.
        """
        number = batch + 1 if most is None else min(batch + 1, most)
        last, self.steps = self.steps, self._before + number
        self.place = (self._epoch, batch)
        between = self._steps_between
        return bool(between) and self.steps // between > last // between

    def end_epoch(self, epoch):
        """Note that an epoch ends, and return whether something is due."""
        self.place = (epoch, None)
        return self.every == "epoch"
