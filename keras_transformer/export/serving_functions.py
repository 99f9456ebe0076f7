"""The functions of an exported translator, as TensorFlow graphs."""

import math

import keras

from keras_transformer.decoding.length_limit import capacities, target_limit
from keras_transformer.decoding.sequence_generator import SequenceGenerator
from keras_transformer.decoding.sequence_scorer import SequenceScorer
from keras_transformer.layers.key_value_cache import plain_writes
from keras_transformer.text.graph_tokenizer import GraphTokenizer
from keras_transformer.text.optional_imports import require


class ServingFunctions:
    """Translate and score inside graphs.

    Args:
        model: a built `Transformer` on the TensorFlow backend.
        tokenizer: SentencePiece tokenizer of the source.
        target_tokenizer: SentencePiece tokenizer of the target.
        search: a search.
        max_length: largest number of target positions.
        max_source_length: largest number of source positions, and of positions of a
            target to score. For longer ones nothing is computed.
        n_best: number of translations of the signature `n_best`, 0 for none.

    Raises:
        RuntimeError: on another backend than TensorFlow.
    """

    def __init__(
        self,
        model,
        tokenizer,
        target_tokenizer,
        search,
        max_length,
        max_source_length,
        n_best=0,
    ):
        if keras.backend.backend() != "tensorflow":
            raise RuntimeError(
                "Export runs on the TensorFlow backend. Save the translator, then load "
                "and export it with KERAS_BACKEND=tensorflow. "
                f"Received: the {keras.backend.backend()} backend."
            )
        self.tf = require("tensorflow", "export")
        ids = {name: getattr(model, name) for name in ("pad_id", "end_id", "start_id")}
        self.model = model
        self.source = GraphTokenizer(tokenizer, **ids)
        self.target = GraphTokenizer(target_tokenizer, **ids)
        self.max_length = max_length
        self.max_source_length = max_source_length
        self.capacities = capacities(max_length)
        self.generators = self._generators(search.with_n_best(1))
        self.n_best_generators = []
        if n_best:
            self.n_best_generators = self._generators(search.with_n_best(n_best))
        self.scorer = SequenceScorer(model)

    def _generators(self, search):
        return [
            SequenceGenerator(self.model, search, self.max_length, capacity=capacity)
            for capacity in self.capacities
        ]

    def translate(self, text):
        """Strings (batch,) to the best translation and its score, each (batch,)."""
        found = self._translate(text, self.generators)
        return {name: values[:, 0] for name, values in found.items()}

    def n_best(self, text):
        """Strings (batch,) to translations and their scores, each (batch, n)."""
        return self._translate(text, self.n_best_generators)

    def _translate(self, text, generators):
        tf = self.tf
        source_ids, blank, too_long = self.source.source(text, self.max_source_length)
        ids, scores = self._search(source_ids, generators)  # (batch, n, target), ...
        texts = self.target.strings(tf.reshape(ids, (-1, tf.shape(ids)[2])))
        texts = tf.reshape(texts, tf.shape(scores))
        # A blank text has one translation, a blank one; one that is too long has none.
        none = tf.concat([[0.0], tf.fill([tf.shape(scores)[1] - 1], -math.inf)], axis=0)
        scores = tf.where(blank[:, None], none, scores)
        return {
            "translation": tf.where((blank | too_long)[:, None], "", texts),
            "score": tf.where(too_long[:, None], -math.inf, scores),
        }

    def translate_ids(self, source_ids):
        """Ids (batch, source) to the best target's ids (batch, target) and score."""
        tf, most = self.tf, self.max_source_length
        pad, start = self.model.pad_id, self.model.start_id
        too_long = tf.reduce_any(source_ids[:, most:] != pad, axis=1)
        source_ids = tf.where(too_long[:, None], pad, source_ids)[:, :most]
        ids, scores = self._search(source_ids, self.generators)
        ids, scores = ids[:, 0], scores[:, 0]
        none = tf.concat([[start], tf.fill([tf.shape(ids)[1] - 1], pad)], axis=0)
        return {
            "ids": tf.where(too_long[:, None], none, ids),
            "score": tf.where(too_long, -math.inf, scores),
        }

    def _search(self, source_ids, generators):
        tf = self.tf
        real = tf.cast(source_ids != self.model.pad_id, tf.int32)
        longest = tf.reduce_max(tf.reduce_sum(real, axis=1, keepdims=True))
        limit = target_limit(tf.maximum(longest, 0), self.max_length)
        fits = tf.cast(limit <= tf.constant(self.capacities), tf.int32)
        branches = [self._branch(generator, source_ids) for generator in generators]
        return tf.switch_case(tf.argmax(fits, output_type=tf.int32), branches)

    def _branch(self, generator, source_ids):
        def run():
            result = generator(source_ids, training=False)
            # Start token, generated tokens, and no column more than the longest needs.
            columns = self.tf.reduce_max(result["lengths"]) + 1
            columns = self.tf.maximum(columns, 1)
            return result["ids"][:, :, :columns], result["scores"]

        return run

    def score(self, text, translation):
        """Strings (batch,) and their translations to log-probabilities (batch,)."""
        tf, most = self.tf, self.max_source_length
        source_ids, _, too_long = self.source.source(text, most)
        target_ids, labels, too_long_target = self.target.target(translation, most)
        scored = self.scorer(
            {"source_ids": source_ids, "target_ids": target_ids, "labels": labels},
            training=False,
        )
        none = too_long | too_long_target
        return {
            "log_probability": tf.where(none, -math.inf, scored["log_probs"]),
            "length": scored["lengths"],
        }

    def signatures(self):
        """Return concrete functions by signature name."""
        tf = self.tf
        strings = tf.TensorSpec([None], tf.string, name="text")
        ids = tf.TensorSpec([None, None], tf.int32, name="source_ids")
        answers = tf.TensorSpec([None], tf.string, name="translation")
        functions = {
            "serving_default": (self.translate, (strings,)),
            "translate_ids": (self.translate_ids, (ids,)),
            "score": (self.score, (strings, answers)),
        }
        if self.n_best_generators:
            functions["n_best"] = (self.n_best, (strings,))
        with plain_writes():
            return {
                name: tf.function(function).get_concrete_function(*specs)
                for name, (function, specs) in functions.items()
            }
