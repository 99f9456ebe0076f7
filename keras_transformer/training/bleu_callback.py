"""BLEU of held-out sentences while a model trains."""

import json
import logging
from contextlib import nullcontext
from pathlib import Path

import keras

from keras_transformer.argument_checks import check_positive_integer
from keras_transformer.training.corpus_scores import (
    check_references,
    check_tokenize,
    corpus_scores,
)
from keras_transformer.whole_folder import whole_file

logger = logging.getLogger(__name__)


class BleuCallback(keras.callbacks.Callback):
    """Translate held-out sentences after an epoch, and log their BLEU.

    The score, sacreBLEU's, stands in the epoch's logs for the callbacks after this
    one, `EarlyStopping(monitor="val_bleu", mode="max")` for example, and in the history
    of `fit`. Epochs that are left out have none.

    Args:
        translate: a function of a list of strings to a list of strings, such as a
            `Translator` of the model that trains.
        pairs: a list of (source, reference) strings.
        name: the score's name in the logs.
        every: number of epochs from one translation to the next.
        averaging: a `CheckpointAveraging` that stands before this callback; its
            average translates, and is what `best` saves.
        best: file for the weights with the best score, ending in `.weights.h5`. It is
            replaced as a whole. The score is written beside, `.json` added, and a
            `fit` whose `initial_epoch` is not 0 goes on from it.
        tokenize: sacreBLEU's tokenizer; `"none"` for text that is tokenized already.

    Attributes:
        signature: sacreBLEU's signature, `None` before the first score. It is logged.
        best_score: the highest score, `None` before the first.
        best_epoch: its epoch, counted from 0.

    Raises:
        ImportError: without sacrebleu.
        ValueError: without pairs, for what is no pair of strings, or another file name.
    """

    def __init__(
        self,
        translate,
        pairs,
        *,
        name="val_bleu",
        every=1,
        averaging=None,
        best=None,
        tokenize="13a",
    ):
        super().__init__()
        self.translate = translate
        self._sources, self._references = _split(pairs)
        self.name = name
        self.every = check_positive_integer("every", every)
        self.averaging = averaging
        self.best = None if best is None else Path(best)
        if self.best is not None and not self.best.name.endswith(".weights.h5"):
            raise ValueError(f"`best` must end in `.weights.h5`. Received: {best!r}.")
        self._record = None if best is None else Path(f"{best}.json")
        check_tokenize(tokenize)
        self.tokenize = tokenize
        self.signature = None
        self.best_score = None
        self.best_epoch = None
        self._first = True

    def on_train_begin(self, logs=None):
        """Note that the next epoch is the first of a `fit`."""
        self._first = True

    def on_epoch_begin(self, epoch, logs=None):
        """Read the best score so far, in the first epoch of a `fit` that goes on."""
        going_on, self._first = self._first and epoch > 0, False
        if self._record is None or not going_on or self.best_score is not None:
            return
        if self._record.exists():
            record = json.loads(self._record.read_text(encoding="utf-8"))
            self.best_score, self.best_epoch = record["score"], record["epoch"]

    def on_epoch_end(self, epoch, logs=None):
        """Translate, log the score, and save the weights if it is the best."""
        if (epoch + 1) % self.every:
            return
        if self.averaging is not None:
            self.averaging.check_seen(epoch)
        weights = nullcontext() if self.averaging is None else self.averaging.averaged()
        with weights:
            score = self._score()
            if self.best_score is None or score > self.best_score:
                self.best_score, self.best_epoch = score, epoch
                self._save_best()
        if logs is not None:
            logs[self.name] = score

    def _score(self):
        translations = list(self.translate(self._sources))
        scores = corpus_scores(translations, self._references, tokenize=self.tokenize)
        if self.signature is None:
            self.signature = scores.bleu_signature
            logger.info("%s is sacreBLEU's %s", self.name, self.signature)
        return scores.bleu

    def _save_best(self):
        if self.best is None or self._record is None:
            return
        with whole_file(self.best) as file:
            self.model.save_weights(file)
        record = {
            "score": self.best_score,
            "epoch": self.best_epoch,
            "signature": self.signature,
        }
        with whole_file(self._record) as file:
            file.write_text(json.dumps(record) + "\n", encoding="utf-8")


def _split(pairs):
    """Return the sources, and a list of one reference for each."""
    pairs = list(pairs)
    for number, pair in enumerate(pairs):
        if (
            not isinstance(pair, (tuple, list))
            or len(pair) != 2
            or not all(isinstance(text, str) for text in pair)
        ):
            raise ValueError(
                "`pairs` must hold (source, reference) strings. "
                f"Received: {pair!r} at index {number}."
            )
    sources = [source for source, _ in pairs]
    references = [[reference] for _, reference in pairs]
    check_references(sources, references)
    return sources, references
