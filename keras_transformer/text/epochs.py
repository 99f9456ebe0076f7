"""Batches as a `tf.data.Dataset` that counts its epochs."""

from typing import TYPE_CHECKING

from keras_transformer.text.batches import Batches
from keras_transformer.text.optional_imports import require

if TYPE_CHECKING:
    import tensorflow as tf

PREFETCHED = 4  # batches


class Epochs:
    """Makes a re-iterable dataset of batches, in a new order for each epoch.

    The order depends on the seed and the number of the epoch alone. An epoch
    counts as given once its last batch is asked for, so that a look at the first
    batches (as Keras takes one to build a model) uses up no epoch.

    What an iteration gives is decided when it begins, whatever others do meanwhile.

    An iteration gives as many batches as an epoch has. If it begins within an epoch it
    ends within the next one, so that iterations one after the other give all batches in
    their order, and Keras, which counts them, is right.

    Args:
        batches: The batches.
        seed: Draws the orders; None keeps the order of the corpus.

    Attributes:
        epoch: Number of the epoch in which the next iteration begins.
        batch: Number of batches of that epoch which it leaves out.
    """

    def __init__(self, batches: Batches, seed: int | None):
        self.batches = batches
        self.seed = seed
        self.epoch = 0
        self.batch = 0

    def begin(self, *, epoch: int | None = None, batch: int | None = None) -> None:
        """Sets where the next iteration begins.

        Raises:
            ValueError: No number of an epoch, or of a batch in an epoch.
        """
        if epoch is not None and (type(epoch) is not int or epoch < 0):
            raise ValueError(f"`epoch` must be an integer >= 0. Received: {epoch!r}.")
        most = len(self.batches)
        if batch is not None and (type(batch) is not int or not 0 <= batch < most):
            raise ValueError(
                f"`batch` must be an integer in [0, {most}). Received: {batch!r}."
            )
        self.epoch = self.epoch if epoch is None else epoch
        self.batch = self.batch if batch is None else batch

    def dataset(self) -> "tf.data.Dataset":
        """Makes the dataset, of known cardinality and prefetched.

        Returns:
            A dataset of `({"source_ids", "target_ids"}, labels)`, all int32 of
            shape (batch, length).
        """
        tf = require("tensorflow", "TranslationData")
        ids = tf.TensorSpec((None, None), "int32")
        signature = ({"source_ids": ids, "target_ids": ids}, ids)

        def batches_from(*place):
            # The last batch stays outside the prefetch, and TensorFlow may add none of
            # its own behind it: what runs ahead must not end the epoch.
            all_but_last, last = (
                tf.data.Dataset.from_generator(
                    part, args=place, output_signature=signature
                )
                for part in (self._all_but_last, self._last)
            )
            return all_but_last.prefetch(PREFETCHED).concatenate(last)

        number = tf.TensorSpec((), "int64")
        dataset = tf.data.Dataset.from_generator(
            lambda: iter([(self.epoch, self.batch)]), output_signature=(number, number)
        ).flat_map(batches_from)
        options = tf.data.Options()
        options.experimental_optimization.inject_prefetch = False
        # Nothing here is to be tuned, and the end of an iteration can miss that the
        # tuner's thread is asleep, and wait for it, for up to a minute.
        options.autotune.enabled = False
        cardinality = tf.data.experimental.assert_cardinality(len(self.batches))
        return dataset.apply(cardinality).with_options(options)

    def _order(self, epoch: int, batch: int):
        order = self._order_of(epoch)
        if batch:
            order = order[batch:] + self._order_of(epoch + 1)[:batch]
        return order

    def _order_of(self, epoch: int):
        return self.batches.order(None if self.seed is None else (self.seed, epoch))

    def _all_but_last(self, epoch, batch):
        yield from self.batches.iterate(self._order(int(epoch), int(batch))[:-1])

    def _last(self, epoch, batch):
        self.epoch = int(epoch) + 1
        yield from self.batches.iterate(self._order(int(epoch), int(batch))[-1:])
