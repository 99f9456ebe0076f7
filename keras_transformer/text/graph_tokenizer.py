"""Tokenizers inside TensorFlow graphs."""

from typing import Any

from keras_transformer.text.optional_imports import require

# What `str.strip` takes for blank.
BLANK = r"[\s\v\x1c-\x1f\x{85}\p{Z}]*"


class GraphTokenizer:
    """A SentencePiece tokenizer of tf-text for the graphs of a SavedModel.

    Args:
        tokenizer: a `keras_hub.tokenizers.SentencePieceTokenizer`.
        pad_id: id of padding.
        end_id: id that ends a sentence.
        start_id: id that a target begins with.

    Raises:
        ImportError: without tensorflow-text.
        ValueError: for a tokenizer without a SentencePiece model.
    """

    def __init__(self, tokenizer: Any, *, pad_id: int, end_id: int, start_id: int):
        self._tf = require("tensorflow", "export")
        text = require("tensorflow_text", "export")
        proto = getattr(tokenizer, "proto", None)
        if not proto:
            raise ValueError(
                "An export from text to text needs a SentencePiece tokenizer. "
                f"Received: {type(tokenizer).__name__}."
            )
        self.ids = {"pad": pad_id, "end": end_id, "start": start_id}
        self.pieces = text.SentencepieceTokenizer(
            model=proto, out_type=self._tf.int32, add_bos=False, add_eos=False
        )

    def source(self, strings, max_length):
        """Turn strings (batch,) into padded ids (batch, length) with their end.

        Args:
            strings: string tensor (batch,).
            max_length: most positions of a row, its end included. A longer text
                becomes a row of its end alone, so that it costs nothing.

        Returns:
            The ids, and two boolean tensors (batch,): True for blank strings and those
            without tokens, and True for those that are too long.
        """
        ragged, too_long = self._limited(strings, max_length)
        blank = self._tf.strings.regex_full_match(strings, BLANK)
        empty = (ragged.row_lengths() == 0) & ~too_long
        return self._close(ragged), blank | empty, too_long

    def target(self, strings, max_length):
        """Turn strings (batch,) into target ids and labels, each (batch, length).

        Returns:
            The ids, the labels, and True for those that are too long, as for a source.
        """
        ragged, too_long = self._limited(strings, max_length)
        labels = self._close(ragged)
        start = self._tf.fill([self._tf.shape(labels)[0], 1], self.ids["start"])
        targets = self._tf.where(labels == self.ids["end"], self.ids["pad"], labels)
        return self._tf.concat([start, targets[:, :-1]], axis=1), labels, too_long

    def strings(self, ids):
        """Turn ids (batch, length) into strings (batch,), special ids left out."""
        tf = self._tf
        special = tf.constant(list(self.ids.values()), "int32")
        keep = tf.reduce_all(ids[..., None] != special, axis=-1)
        return self.pieces.detokenize(tf.ragged.boolean_mask(ids, keep))

    def tokens(self, ids):
        """Turn ids (batch, length) into their pieces, strings; padding into ""."""
        tf = self._tf
        return tf.where(ids == self.ids["pad"], "", self.pieces.id_to_string(ids))

    def _limited(self, strings, max_length):
        tf = self._tf
        ragged = self.pieces.tokenize(strings)
        lengths = ragged.row_lengths()
        too_long = lengths >= max_length  # the end comes on top
        kept = tf.gather(~too_long, ragged.value_rowids())
        return tf.RaggedTensor.from_row_lengths(
            tf.boolean_mask(ragged.values, kept),
            tf.where(too_long, tf.zeros_like(lengths), lengths),
        ), too_long

    def _close(self, ragged):
        tf = self._tf
        end = tf.fill([ragged.nrows(out_type=tf.int32), 1], self.ids["end"])
        closed = tf.concat([ragged, end], axis=1)
        # One column at least: an empty batch has no longest row.
        length = tf.maximum(tf.reduce_max(closed.row_lengths()), 1)
        shape = tf.stack([closed.nrows(), length])
        return tf.reshape(closed.to_tensor(self.ids["pad"], shape=[None, None]), shape)
