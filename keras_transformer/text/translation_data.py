"""Batches of a parallel corpus for `model.fit`."""

import logging
from collections.abc import Iterable
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from keras_transformer.text.batches import Batches, check_seed, check_sizes
from keras_transformer.text.corpus import Corpus
from keras_transformer.text.encoded_pairs import EncodedTexts
from keras_transformer.text.epochs import Epochs
from keras_transformer.text.special_ids import SpecialIds

if TYPE_CHECKING:
    import tensorflow as tf

logger = logging.getLogger(__name__)


class TranslationData:
    """Tokenizes a corpus once and deals it into batches with little padding.

    With `x` and `y` the ids of a source and its target, a row holds

        source_ids = x + [end]
        target_ids = [start] + y
        labels     = y + [end]

    each padded with 0 to the length of its batch. Pairs are sorted into at most
    `max_shapes` pairs of lengths, chosen for the corpus so that little is padded;
    a batch takes as many rows as `tokens_per_batch` allows, so that there are at
    most `max_shapes` shapes `(batch, source, target)` and as many compiled steps.
    More shapes mean less padding and more compilation. The rows of a shape are
    dealt out evenly over its batches; where that does not come out even, a batch
    has one row of padding only, which adds nothing to a loss that counts real
    tokens. Where a batch is split over several devices, `rows_multiple_of` their
    number lets each have as many rows.

    With `max_shapes=None` pairs are sorted by both lengths and cut into batches, which
    has the least padding, for steps that are not compiled for each shape (TensorFlow
    without XLA, PyTorch). Mostly the same pairs share a batch then in each epoch.

    Batches and their order are drawn anew for each epoch, from the seed and the
    number of the epoch alone. To resume, set `epoch` and `batch` before `fit`. An
    iteration that is not read to its end is given again from its beginning.

    Args:
        corpus: A `Corpus`, or any iterable of `(source, target)` strings.
        tokenizer: A KerasHub tokenizer which gives integer ids, without
            `sequence_length`, or an object with such a method `tokenize`.
        target_tokenizer: Tokenizer of the target; by default `tokenizer`.
        tokens_per_batch: Most positions of a batch, source and target together,
            padding included.
        max_length: Most positions of a source or target, end or start included.
            Longer pairs are never truncated but left out, counted in `too_long`
            and reported by a logged warning.
        max_shapes: Most shapes of training batches, and of validation batches, or
            None for no limit.
        rows_multiple_of: What divides the number of rows of each batch.
        validation: For an iterable of pairs, the fraction or number of them to
            validate on; see `Corpus.from_pairs`.
        shuffle: Draws a new order of the training pairs for each epoch.
        seed: Decides all that is drawn.
        end_id: Id of the end of a sentence.
        start_id: Id of the start of a target.

    Attributes:
        train: A `tf.data.Dataset` of `({"source_ids": (batch, source),
            "target_ids": (batch, target)}, labels (batch, target))`, int32, of
            known cardinality. Iterate as often as you like: an epoch each time, or
            with `batch` the rest of one and the beginning of the next.
        validation: The same in a fixed order; None without validation pairs.
        too_long: Number of pairs left out, for `"train"` and `"validation"`.
        shapes: The `(batch, source, target)` shapes of training batches.
        padding_share: Share of the positions of training batches which are
            padding, in [0, 1).
        special_ids: The ids `pad`, `end` and `start`.

    Raises:
        ImportError: tensorflow is missing.
        TypeError: A tokenizer without a method `tokenize`.
        ValueError: Sizes below 1, a seed below 0, a batch too small for a longest
            pair, a tokenizer that truncates or gives special ids for text, or
            nothing left to train on.

    Examples:
        >>> class Bytes:
        ...     def tokenize(self, texts):
        ...         return [[3 + byte for byte in text.encode()] for text in texts]
        >>> data = TranslationData([("ab", "c")], Bytes(), seed=1)
        >>> inputs, labels = next(iter(data.train))
        >>> inputs["source_ids"].numpy(), inputs["target_ids"].numpy(), labels.numpy()
        ... # doctest: +NORMALIZE_WHITESPACE
        (array([[100, 101,   1]], dtype=int32), array([[  2, 102]], dtype=int32),
         array([[102,   1]], dtype=int32))
    """

    def __init__(
        self,
        corpus: Corpus | Iterable[tuple[str, str]],
        tokenizer: Any,
        *,
        target_tokenizer: Any = None,
        tokens_per_batch: int = 4096,
        max_length: int = 128,
        max_shapes: int | None = 12,
        rows_multiple_of: int = 1,
        validation: int | float = 0,
        shuffle: bool = True,
        seed: int = 0,
        end_id: int = 1,
        start_id: int = 2,
    ):
        check_sizes(tokens_per_batch, max_length, max_shapes, rows_multiple_of)
        check_seed(seed)
        self.special_ids = SpecialIds(end=end_id, start=start_id)
        self._tokenizers = {"tokenizer": tokenizer}
        if target_tokenizer is not None:
            self._tokenizers["target_tokenizer"] = target_tokenizer
        for name, value in self._tokenizers.items():
            self.special_ids.check_tokenizer(name, value)
        self._sizes = {
            "tokens_per_batch": tokens_per_batch,
            "max_length": max_length,
            "max_shapes": max_shapes,
            "rows_multiple_of": rows_multiple_of,
        }
        corpus = _as_corpus(corpus, validation, seed)
        self._train = self._batches(corpus.train)
        self._validation = self._batches(corpus.validation)
        self.too_long = {
            "train": self._train.too_long,
            "validation": self._validation.too_long,
        }
        self._report_too_long(len(corpus.train) + len(corpus.validation))
        self._epochs = Epochs(self._train, seed if shuffle else None)
        self.train: tf.data.Dataset = self._epochs.dataset()
        self.validation: tf.data.Dataset | None = (
            Epochs(self._validation, None).dataset() if len(self._validation) else None
        )

    @property
    def shapes(self) -> list[tuple[int, int, int]]:
        """The `(batch, source, target)` shapes of training batches."""
        return self._train.shapes

    @property
    def padding_share(self) -> float:
        """Share of the positions of training batches which are padding."""
        return self._train.padding_share

    @property
    def description(self) -> dict[str, Any]:
        """What the batches and their order depend on, to tell data apart."""
        return {
            "pairs": self._train.pairs,
            "shapes": [list(shape) for shape in self.shapes],
            "batches": len(self._train),
            "seed": self._epochs.seed,
            "ids": self._train.digest,
            "special_ids": list(astuple(self.special_ids)),
        }

    @property
    def epoch(self) -> int:
        """Number of the epoch in which the next iteration over `train` begins."""
        return self._epochs.epoch

    @epoch.setter
    def epoch(self, value: int) -> None:
        self._epochs.begin(epoch=value)

    @property
    def batch(self) -> int:
        """Number of batches of that epoch which have been taken already."""
        return self._epochs.batch

    @batch.setter
    def batch(self, value: int) -> None:
        self._epochs.begin(batch=value)

    def _batches(self, pairs) -> Batches:
        sides = []
        for side, name in enumerate(("tokenizer", "target_tokenizer")):
            name = name if name in self._tokenizers else "tokenizer"
            texts = EncodedTexts.from_texts(
                [pair[side] for pair in pairs], self._tokenizers[name]
            )
            self.special_ids.check_text_ids(name, self._tokenizers[name], texts.ids)
            sides.append(texts)
        return Batches(*sides, special_ids=self.special_ids, **self._sizes)

    def _report_too_long(self, total: int) -> None:
        count, limit = sum(self.too_long.values()), self._sizes["max_length"]
        if not len(self._train):
            raise ValueError(
                "`max_length` must leave pairs for training. Received: "
                f"{limit}, with all {self.too_long['train']} pairs longer."
            )
        if count:
            logger.warning(
                "Left out %d of %d pairs with more than `max_length`=%d positions.",
                count,
                total,
                limit,
            )


def _as_corpus(corpus, validation: int | float, seed: int) -> Corpus:
    if not isinstance(corpus, Corpus):
        return Corpus.from_pairs(corpus, validation=validation, test=0, seed=seed)
    if validation:
        raise ValueError(
            "`validation` must be left out for a `Corpus`, which has its own. "
            f"Received: {validation!r}."
        )
    return corpus
