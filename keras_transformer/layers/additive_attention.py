"""Attention whose scores come from a small network, Bahdanau's."""

import keras
from keras import ops

from keras_transformer.argument_checks import check_positive_integer, check_rate
from keras_transformer.attention import (
    as_boolean_mask,
    as_padding_mask,
    byte_dropout,
    combine_masks,
)
from keras_transformer.attention.dot_product import FORBIDDEN
from keras_transformer.layers.initialization import initializer_for
from keras_transformer.layers.sequence_shape import check_sequence_shape


@keras.saving.register_keras_serializable(package="keras_transformer")
class AdditiveAttention(keras.layers.Layer):
    """Attend by a score that a network with one hidden layer gives.

    ```
    score(q, k) = v^T tanh(W q + U k + b)
    y = softmax(score) V
    ```

    Args:
        units: number of hidden units of the score.
        dropout: share of the scores dropped in training, in [0, 1).
        use_bias: whether the hidden layer adds a bias.
        kernel_initializer: initializer of W, U and v.
        bias_initializer: initializer of the bias.
        seed: seed of the dropout.

    Raises:
        ValueError: for a size below 1 or a rate outside [0, 1).

    Examples:
        >>> import numpy as np
        >>> from keras_transformer.layers import AdditiveAttention
        >>> query, value = np.ones((2, 3, 4), "float32"), np.ones((2, 5, 6), "float32")
        >>> tuple(AdditiveAttention(units=8)(query, value).shape)
        (2, 3, 6)

    Reference: Bahdanau et al., 2015, "Neural Machine Translation by Jointly Learning
    to Align and Translate", appendix A.1.2.
    """

    def __init__(
        self,
        units,
        *,
        dropout=0.0,
        use_bias=True,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        seed=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.units = check_positive_integer("units", units)
        self.dropout = check_rate("dropout", dropout)
        self.use_bias = use_bias
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def build(self, query_shape, value_shape, key_shape=None):
        """Create W, U and v for the widths of query and key."""
        key_shape = value_shape if key_shape is None else key_shape
        for name, shape in (("query", query_shape), ("key", key_shape)):
            check_sequence_shape(shape, name)
        self.query_dense = self._linear("query", use_bias=False)
        self.query_dense.build((None, query_shape[-1]))
        self.key_dense = self._linear("key", use_bias=self.use_bias)
        self.key_dense.build((None, key_shape[-1]))
        self.vector = self.add_weight(
            name="vector",
            shape=(self.units, 1),
            initializer=initializer_for(self.kernel_initializer, "vector"),
        )

    def _linear(self, name, use_bias):
        return keras.layers.Dense(
            self.units,
            use_bias=use_bias,
            kernel_initializer=initializer_for(self.kernel_initializer, name),
            bias_initializer=initializer_for(self.bias_initializer, name),
            dtype=self.dtype_policy,
            name=name,
        )

    def call(
        self,
        query,
        value,
        key=None,
        value_mask=None,
        key_mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
    ):
        """Attend from each query to all keys.

        Args:
            query: (batch, query, query width).
            value: (batch, key, value width).
            key: (batch, key, key width); the value if not given.
            value_mask: boolean (batch, key), True at real positions.
            key_mask: boolean (batch, key), True at real positions.
            attention_mask: boolean (batch, query, key), True = may attend.
            return_attention_scores: whether to return the scores as well.
            training: whether dropout is on.

        Returns:
            (batch, query, value width), or the pair of it and the scores (batch,
            query, key). A query that may attend to nothing gets zeros.
        """
        mask = combine_masks(
            _of_keys(value_mask, "value_mask"),
            _of_keys(key_mask, "key_mask"),
            as_boolean_mask(attention_mask, "attention_mask"),
        )
        return self.attend(
            query,
            self.project_key(value if key is None else key),
            value,
            mask=mask,
            return_attention_scores=return_attention_scores,
            training=training,
        )

    def project_key(self, key):
        """Compute U k + b, which does not depend on the query: (batch, key, units)."""
        return self.key_dense(key)

    def attend(
        self,
        query,
        projected_key,
        value,
        *,
        mask=None,
        return_attention_scores=False,
        training=None,
    ):
        """Attend to keys that are projected already.

        Args:
            query: (batch, query, query width).
            projected_key: (batch, key, units), from `project_key`.
            value: (batch, key, value width).
            mask: boolean, broadcastable to (batch, query, key), True = may attend.
            return_attention_scores: whether to return the scores as well.
            training: whether dropout is on.

        Returns:
            As `call`.
        """
        hidden = self.query_dense(query)[:, :, None] + projected_key[:, None]
        vector = ops.cast(self.vector, self.compute_dtype)
        logits = ops.matmul(ops.tanh(hidden), vector)[..., 0]  # (batch, query, key)
        scores = ops.cast(_masked_softmax(logits, mask), self.compute_dtype)
        kept = (
            byte_dropout(scores, self.dropout, self.seed_generator)
            if training
            else scores
        )
        context = ops.matmul(kept, value)
        return (context, scores) if return_attention_scores else context

    def compute_output_shape(self, query_shape, value_shape, key_shape=None):
        """Shape of the query, with the value's width."""
        return (*query_shape[:-1], value_shape[-1])

    def compute_output_spec(
        self, query, value, key=None, return_attention_scores=False, **kwargs
    ):
        """Symbolic output: a tensor, or the pair of output and scores."""
        shape = self.compute_output_shape(query.shape, value.shape)
        output = keras.KerasTensor(shape, dtype=self.compute_dtype)
        if not return_attention_scores:
            return output
        scores = (*query.shape[:2], value.shape[1])
        return output, keras.KerasTensor(scores, dtype=self.compute_dtype)

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "units": self.units,
            "dropout": self.dropout,
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "seed": self.seed,
        }


def _of_keys(mask, name):
    mask = as_padding_mask(mask, name)
    return None if mask is None else mask[:, None]  # (batch, 1, key)


def _masked_softmax(logits, mask):
    """Softmax in float32; zeros where nothing is allowed."""
    logits = ops.cast(logits, "float32")
    if mask is None:
        return ops.softmax(logits, axis=-1)
    logits = ops.where(mask, logits, FORBIDDEN)
    weights = ops.exp(logits - ops.stop_gradient(ops.max(logits, -1, keepdims=True)))
    weights = weights * ops.cast(mask, "float32")
    return weights / ops.maximum(ops.sum(weights, -1, keepdims=True), 1e-30)
