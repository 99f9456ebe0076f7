"""Token embeddings, and their transpose for output logits."""

import math

import keras
from keras import ops

from keras_transformer.argument_checks import check_positive_integer
from keras_transformer.layers.sequence_shape import target_shape
from keras_transformer.layers.token_ids import (
    check_integer_ids,
    check_known_ids,
    out_of_range,
)


@keras.saving.register_keras_serializable(package="keras_transformer")
class TokenEmbedding(keras.layers.Layer):
    """Vectors of tokens, scaled by sqrt(d_model); reversed, logits of tokens.

    ```
    embed(id) = sqrt(d_model) E[id]
    logits(x) = x E^T
    ```

    Args:
        vocabulary_size: number of rows of the table.
        hidden_dim: width of a row, d_model.
        scale: whether to multiply by sqrt(d_model), as the paper does.
        mask_zero: whether id 0 is padding, marked by a Keras mask.
        embeddings_initializer: initializer of the table; a normal distribution of
            standard deviation 1/sqrt(d_model) if not given, so that both the scaled
            vectors and the logits begin with unit variance.

    Raises:
        ValueError: for a size below 1; in `call`, for ids that are no integers or,
            where their values are known, outside [0, vocabulary_size). In a compiled
            function such ids give an error of the backend or NaN, never another
            token's vector.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import TokenEmbedding
        >>> embedding = TokenEmbedding(vocabulary_size=100, hidden_dim=16)
        >>> x = embedding(np.array([[5, 7, 0]]))
        >>> tuple(x.shape), tuple(embedding(x, reverse=True).shape)
        ((1, 3, 16), (1, 3, 100))

    Reference: Vaswani et al., 2017, "Attention Is All You Need", section 3.4.
    """

    def __init__(
        self,
        vocabulary_size,
        hidden_dim,
        *,
        scale=True,
        mask_zero=False,
        embeddings_initializer=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.vocabulary_size = check_positive_integer(
            "vocabulary_size", vocabulary_size
        )
        self.hidden_dim = check_positive_integer("hidden_dim", hidden_dim)
        self.scale = scale
        self.mask_zero = mask_zero
        self.embeddings_initializer = keras.initializers.get(
            embeddings_initializer
            or keras.initializers.RandomNormal(stddev=self.hidden_dim**-0.5)
        )

    def build(self, inputs_shape=None):
        """Create the table (vocabulary_size, hidden_dim)."""
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.vocabulary_size, self.hidden_dim),
            initializer=self.embeddings_initializer,
        )
        self.embeddings_scale = None

    def quantize(self, mode=None, type_check=True, config=None):
        """Store the table in 8 bits, with a scale for each row.

        ```
        embed(id) = sqrt(d_model) Q[id] / s[id]
        logits(x) = x Q^T / s
        ```

        Args:
            mode: `"int8"`.
            type_check: not used; Keras passes it.
            config: not used; it is for kernels.

        Raises:
            NotImplementedError: for another mode. `Model.quantize` then warns, and the
                table stays as it is.
            ValueError: if the table is quantized already.
        """
        if mode != "int8":
            raise NotImplementedError(
                f'`mode` must be "int8" for a TokenEmbedding. Received: {mode!r}.'
            )
        if self.embeddings_scale is not None:
            raise ValueError(f"The layer {self.name!r} is already quantized.")
        table, scale = keras.quantizers.abs_max_quantize(self.embeddings, axis=-1)
        del self.embeddings
        self.embeddings = self._constant("embeddings", table, dtype="int8")
        self.embeddings_scale = self._constant("embeddings_scale", scale)

    def _constant(self, name, value, dtype=None):
        weight = self.add_weight(
            name=name,
            shape=value.shape,
            dtype=dtype,
            initializer="zeros",
            trainable=False,
            autocast=False,
        )
        weight.assign(value)
        return weight

    def call(self, inputs, reverse=False):
        """Embed ids, or reversed: score each token of the vocabulary.

        Args:
            inputs: integer ids (batch, length); reversed: (batch, length, hidden_dim).
            reverse: whether to compute logits.

        Returns:
            (batch, length, hidden_dim); reversed: (batch, length, vocabulary_size).
        """
        if reverse:
            return self._logits(inputs)
        check_integer_ids(inputs)
        check_known_ids(inputs, self.vocabulary_size)
        if keras.backend.standardize_dtype(inputs.dtype) not in ("int32", "int64"):
            inputs = ops.cast(inputs, "int32")  # unsigned and small ones
        vectors = self._rows(out_of_range(inputs, self.vocabulary_size))
        known = ops.logical_and(inputs >= 0, inputs < self.vocabulary_size)
        factor = math.sqrt(self.hidden_dim) if self.scale else 1.0
        factor = ops.where(known, factor, float("nan"))[..., None]
        return ops.cast(vectors * ops.cast(factor, vectors.dtype), self.compute_dtype)

    def _rows(self, ids):
        rows = ops.take(self.embeddings, ids, axis=0)
        if self.embeddings_scale is None:
            return rows
        scale = ops.take(self.embeddings_scale, ids, axis=0)
        return ops.divide(ops.cast(rows, scale.dtype), scale)

    def _logits(self, x):
        flat = ops.reshape(x, (-1, self.hidden_dim))
        table = ops.cast(self.embeddings, self.compute_dtype)
        logits = ops.matmul(flat, ops.transpose(table))
        if self.embeddings_scale is not None:
            scale = ops.reshape(self.embeddings_scale, (-1,))  # (vocabulary_size,)
            logits = ops.cast(ops.divide(logits, scale), self.compute_dtype)
        return ops.reshape(logits, (*target_shape(x)[:-1], self.vocabulary_size))

    def compute_mask(self, inputs, previous_mask=None):
        """Mark ids other than 0 as real, if `mask_zero` is set."""
        if self.mask_zero and "int" in str(inputs.dtype):
            return ops.not_equal(inputs, 0)
        return previous_mask

    def compute_output_shape(self, inputs_shape, reverse=False):
        """Append the width; reversed, replace it by the vocabulary's size."""
        if reverse:
            return (*inputs_shape[:-1], self.vocabulary_size)
        return (*inputs_shape, self.hidden_dim)

    def compute_output_spec(self, inputs, reverse=False):
        """Symbolic output, after the check of the ids' dtype."""
        if not reverse:
            check_integer_ids(inputs)
        shape = self.compute_output_shape(inputs.shape, reverse)
        return keras.KerasTensor(shape, dtype=self.compute_dtype)

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "hidden_dim": self.hidden_dim,
            "scale": self.scale,
            "mask_zero": self.mask_zero,
            "embeddings_initializer": keras.initializers.serialize(
                self.embeddings_initializer
            ),
        }
