"""A training run from its settings to its translator."""

import contextlib
import sys

import keras

from keras_transformer.cli import training_data
from keras_transformer.cli.device import backend_in_words, device_in_words
from keras_transformer.cli.run_folder import BACKUP
from keras_transformer.cli.run_log import RunLog
from keras_transformer.cli.training_model import compile_model, make_model
from keras_transformer.decoding import BeamSearch, GreedySearch
from keras_transformer.text import TranslationData
from keras_transformer.training import (
    CheckpointAveraging,
    TrainingBackup,
    TranslationPreview,
)
from keras_transformer.translator import Translator

TRANSLATOR = "model.translator"
POLICIES = {"bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}


class TrainingRun:
    """Train by settings, from the last checkpoint in the folder of the run.

    `fit` is called for as many whole epochs as are left; or, where a run goes on from
    within an epoch, for the rest of it first. Each call begins with what the
    checkpoint holds, so that an interruption changes nothing.

    Args:
        settings: the resolved `TrainSettings`.
        quiet: whether to show nothing.
    """

    def __init__(self, settings, *, quiet=False):
        self.settings, self.quiet = settings, quiet
        self.search = BeamSearch(  # its errors come before the long work
            num_beams=settings.num_beams, length_penalty=settings.length_penalty
        )
        keras.config.set_dtype_policy(
            POLICIES.get(settings.precision, settings.precision)
        )
        keras.utils.set_random_seed(settings.seed)
        corpus = training_data.read_corpus(settings)
        self.tokenizer = training_data.tokenizer_of(
            corpus, settings.vocabulary_size, settings.output
        )
        self.corpus = corpus
        self.left_out = training_data.left_out_in_words(corpus)
        self.data = TranslationData(
            corpus,
            self.tokenizer,
            tokens_per_batch=settings.tokens_per_batch,
            max_length=settings.max_length,
            seed=settings.seed,
        )
        self.batches = int(self.data.train.cardinality())
        self.steps = settings.steps or settings.epochs * self.batches
        self.model = make_model(settings, self.tokenizer.vocabulary_size())
        compile_model(self.model, settings, self.steps)
        self.averaging = None
        if settings.average_last > 1:
            self.averaging = CheckpointAveraging(last=settings.average_last)
            self.averaging.set_model(self.model)
        self.log = RunLog(
            settings.output,
            {"device": device_in_words(), "backend": backend_in_words()},
        )
        examples = corpus.validation or corpus.train
        self.examples = [source for source, _ in examples[: settings.preview]]

    def finish(self):
        """Train to the end, save the translator, and return its path."""
        done = self._restore()
        # The data are those of the checkpoint, so the test has not been trained on.
        training_data.write_test(self.corpus, self.settings.output)
        self._say(self._description(done))
        # Progress is no result: what Keras prints goes to standard error.
        with contextlib.redirect_stdout(sys.stderr):
            while done < self.steps:
                self._fit_from(done)
                before, done = done, self._restore()
                if done == before:
                    raise FloatingPointError(
                        f"Training stopped after step {done}: the loss or the weights "
                        "are not finite. A lower --learning-rate or another "
                        "--precision may help."
                    )
        path = self.settings.output / TRANSLATOR
        averaged = contextlib.nullcontext()
        if self.averaging is not None:
            averaged = self.averaging.averaged()
        with averaged:
            self._translator().save(path)
        self._say(f"Ask it with: keras-transformer translate {path}\n")
        return path

    def _restore(self):
        """Take up what the checkpoint holds, and return the number of steps done."""
        self._backup().restore(self.model)
        done = self.data.epoch * self.batches + self.data.batch
        self.log.go_on_after(done)
        return done

    def _fit_from(self, done):
        epoch, batch = divmod(done, self.batches)
        left = self.steps - done
        train, epochs = self.data.train, self.steps // self.batches
        if batch or left < self.batches:
            train, epochs = train.take(min(self.batches - batch, left)), epoch + 1
        self.model.fit(
            train,
            validation_data=self.data.validation,
            initial_epoch=epoch,
            epochs=epochs,
            callbacks=self._callbacks(),
            shuffle=False,  # the data is shuffled anew for each epoch by itself
            verbose=0 if self.quiet else 1 if sys.stderr.isatty() else 2,
        )

    def _callbacks(self):
        callbacks = [self.averaging] if self.averaging is not None else []
        if self.examples and not self.quiet:
            greedy = Translator(self.model, self.tokenizer, search=GreedySearch())
            callbacks.append(TranslationPreview(greedy, self.examples))
        nan = keras.callbacks.TerminateOnNaN()
        return [*callbacks, self.log, nan, self._backup()]

    def _backup(self):
        return TrainingBackup(
            self.settings.output / BACKUP,
            data=self.data,
            averaging=self.averaging,
            every=self.settings.checkpoint_every,
        )

    def _translator(self):
        return Translator(
            self.model,
            self.tokenizer,
            search=self.search,
            max_length=self.settings.max_translation_length,
        )

    def _description(self, done):
        settings, data, model = self.settings, self.data, self.model
        place = f", goes on after step {done:,}" if done else ""
        if done >= self.steps:
            place = ", finished before"
        held = data.validation.cardinality() if data.validation is not None else 0
        return (
            f"Run         {settings.output}{place}\n"
            f"Device      {self.log.details['device']}\n"
            f"Backend     {self.log.details['backend']}, {settings.precision}\n"
            f"Data        {data.description['pairs']:,} pairs in {self.batches:,} "
            f"batches, {data.padding_share:.0%} padding; "
            f"{int(held):,} batches to validate on{self.left_out}\n"
            f"Model       {settings.num_layers} + {settings.num_layers} layers of "
            f"width {settings.hidden_dim}, {settings.num_heads} heads, "
            f"{model.vocabulary_size:,} pieces; {model.count_params():,} parameters\n"
            f"Training    {self.steps:,} steps, "
            f"{self.steps / self.batches:.3g} epochs\n"
        )

    def _say(self, text):
        if not self.quiet:
            sys.stderr.write(text)
            sys.stderr.flush()
