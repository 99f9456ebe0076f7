"""The functions of an exported translator, as TensorFlow graphs."""

import functools
import math
from typing import Any

import keras

from keras_transformer.decoding.length_limit import capacities, target_limit
from keras_transformer.decoding.sequence_generator import SequenceGenerator
from keras_transformer.decoding.sequence_scorer import SequenceScorer
from keras_transformer.layers.plain_graph import plain_graph
from keras_transformer.models.attention_scorer import AttentionScorer
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
        attention: whether there is a signature `attention`.

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
        attention=False,
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
        self.max_source_length = min(
            max_source_length, model.max_length or max_source_length
        )
        self.capacities = capacities(max_length)
        self.searches = self._searches(search.with_n_best(1))
        self.n_best_searches = []
        if n_best:
            self.n_best_searches = self._searches(search.with_n_best(n_best))
        self.scorer = SequenceScorer(model)
        self.attention_scorer: Any = AttentionScorer(model) if attention else None

    def _searches(self, search):
        """A function for each capacity, which all signatures share in the file."""
        return [self._search_of(search, capacity) for capacity in self.capacities]

    def _search_of(self, search, capacity):
        tf = self.tf
        generator = SequenceGenerator(
            self.model, search, self.max_length, capacity=capacity, name="search"
        )

        @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)])
        def run(source_ids):
            result = generator(source_ids, training=False)
            # Start token, generated tokens, and no column more than the longest needs.
            columns = tf.maximum(tf.reduce_max(result["lengths"]) + 1, 1)
            return result["ids"][:, :, :columns], result["scores"]

        return run

    def translate(self, text):
        """Strings (batch,) to the best translation and its score, each (batch,)."""
        found = self._translate(text, self.searches)
        return {name: values[:, 0] for name, values in found.items()}

    def n_best(self, text):
        """Strings (batch,) to translations and their scores, each (batch, n)."""
        return self._translate(text, self.n_best_searches)

    def _translate(self, text, searches):
        tf = self.tf
        source_ids, blank, too_long = self.source.source(text, self.max_source_length)
        ids, scores = self._search(source_ids, searches)  # (batch, n, target), ...
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
        ids, scores = self._search(source_ids, self.searches)
        ids, scores = ids[:, 0], scores[:, 0]
        none = tf.concat([[start], tf.fill([tf.shape(ids)[1] - 1], pad)], axis=0)
        return {
            "ids": tf.where(too_long[:, None], none, ids),
            "score": tf.where(too_long, -math.inf, scores),
        }

    def _search(self, source_ids, searches):
        tf = self.tf
        real = tf.cast(source_ids != self.model.pad_id, tf.int32)
        longest = tf.reduce_max(tf.reduce_sum(real, axis=1, keepdims=True))
        limit = target_limit(tf.maximum(longest, 0), self.max_length)
        fits = tf.cast(limit <= tf.constant(self.capacities), tf.int32)
        branches = [functools.partial(search, source_ids) for search in searches]
        return tf.switch_case(tf.argmax(fits, output_type=tf.int32), branches)

    def _update(self, block, rows, place, axis):
        """Write a slice of a cache, by a core operation that reuses the block."""
        others = 0b1111 & ~(1 << axis)  # the axes that are written from end to end
        begin, end = [0, 0, 0, 0], [0, 0, 0, 0]
        begin[axis], end[axis] = place, place + rows.shape[axis]
        return self.tf.raw_ops.TensorStridedSliceUpdate(
            input=block,
            begin=self.tf.stack(begin),
            end=self.tf.stack(end),
            strides=[1, 1, 1, 1],
            value=rows,
            begin_mask=others,
            end_mask=others,
        )

    def score(self, text, translation):
        """Strings (batch,) and their translations to log-probabilities (batch,)."""
        tf, most = self.tf, self.max_source_length
        self._check_pairs(text, translation)
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

    def _check_pairs(self, text, translation):
        sizes = (self.tf.shape(strings)[0] for strings in (text, translation))
        self.tf.debugging.assert_equal(
            *sizes, "`text` and `translation` must have the same length."
        )

    def attention(self, text, translation):
        """Strings (batch,) and their translations to tokens and attention scores.

        They grow with the square of the length, so `max_length` bounds both sides.
        """
        tf = self.tf
        self._check_pairs(text, translation)
        source_ids, _, too_long = self.source.source(text, self.max_length)
        ids, labels, too_long_target = self.target.target(translation, self.max_length)
        none = (too_long | too_long_target)[:, None]
        pad = self.model.pad_id
        source_ids, ids, labels = (
            tf.where(none, pad, side) for side in (source_ids, ids, labels)
        )
        scores = self.attention_scorer({"source_ids": source_ids, "target_ids": ids})
        return {
            "source_tokens": self.source.tokens(source_ids),
            "target_tokens": self.target.tokens(ids),
            "predicted_tokens": self.target.tokens(labels),
            **scores,
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
        if self.n_best_searches:
            functions["n_best"] = (self.n_best, (strings,))
        if self.attention_scorer:
            functions["attention"] = (self.attention, (strings, answers))
        with plain_graph(self._update):
            return {
                name: tf.function(function).get_concrete_function(*specs)
                for name, (function, specs) in functions.items()
            }
