"""Additive attention."""

import keras
from keras import ops

from keras_transformer.argument_checks import check_positive_integer, check_rate
from keras_transformer.attention import (
    additive_attention,
    as_padding_mask,
    attention_masks,
    combine_masks,
)
from keras_transformer.attention.masks import MASKS
from keras_transformer.layers.initialization import initializer_for
from keras_transformer.layers.sequence_shape import check_sequence_shape


@keras.saving.register_keras_serializable(package="keras_transformer")
class AdditiveAttention(keras.layers.Layer):
    """Attention by a small network over query and key, as recurrent translators use it.

    ```
    s_ij = v · tanh(W q_i + U k_j + b)
    o_i = sum_j softmax_j(s_i)_j value_j
    ```

    A decoder that goes step by step projects the keys once, with `project_key`, and
    calls `attend` with a query of one position.

    Args:
        units: width of the sum of query and key.
        dropout: share of the attention scores dropped in training, in [0, 1).
        use_bias: whether b is added.
        kernel_initializer: initializer of W, U and v.
        bias_initializer: initializer of b.
        seed: seed of the dropout.

    Raises:
        ValueError: for `units` below 1 or a rate outside [0, 1).

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import AdditiveAttention
        >>> attention = AdditiveAttention(16)
        >>> memory = np.ones((2, 5, 8), "float32")
        >>> state = np.ones((2, 1, 6), "float32")
        >>> tuple(attention(state, memory).shape)
        (2, 1, 8)
        >>> keys = attention.project_key(memory)
        >>> tuple(attention.attend(state, keys, memory).shape)
        (2, 1, 8)

    Reference: Bahdanau et al., 2015, "Neural Machine Translation by Jointly Learning to
    Align and Translate", appendix A.1.2.
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
        """Create the two projections and v."""
        for name, shape in (("query", query_shape), ("value", value_shape)):
            check_sequence_shape(shape, name)
        self.query_dense = self._dense("query", False)
        self.query_dense.build(query_shape)
        self.key_dense = self._dense("key", self.use_bias)
        self.key_dense.build(value_shape if key_shape is None else key_shape)
        self.scale = self.add_weight(
            shape=(self.units,),
            initializer=initializer_for(self.kernel_initializer, "scale"),
            name="scale",
        )

    def _dense(self, name, use_bias):
        return keras.layers.Dense(
            self.units,
            use_bias=use_bias,
            kernel_initializer=initializer_for(self.kernel_initializer, name),
            bias_initializer=initializer_for(self.bias_initializer, name),
            dtype=self.dtype_policy,
            name=name,
        )

    def project_key(self, key):
        """Project keys once, for any number of calls of `attend`.

        Args:
            key: (batch, key, width).

        Returns:
            (batch, key, units).
        """
        return self.key_dense(key)

    def call(
        self,
        query,
        value,
        key=None,
        query_mask=None,
        value_mask=None,
        key_mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
    ):
        """Attend from `query` to `key`, and average `value`.

        All masks that are given apply together. A query that may attend to nothing
        gets zeros.

        Args:
            query: (batch, query, query width).
            value: (batch, key, value width).
            key: (batch, key, key width); `value` if not given.
            query_mask: boolean (batch, query), True at real positions. Like the next
                two it is taken from the tensor's Keras mask if not given.
            value_mask: boolean (batch, key), True at real positions.
            key_mask: boolean (batch, key), True at real positions.
            attention_mask: boolean (batch, query, key), True = may attend.
            return_attention_scores: whether to return the scores as well.
            training: whether dropout is on.

        Returns:
            (batch, query, value width), or the pair of it and the scores (batch,
            query, key).
        """
        return self.attend(
            query,
            self.project_key(value if key is None else key),
            value,
            mask=_mask(value_mask, key_mask, attention_mask),
            query_mask=query_mask,
            return_attention_scores=return_attention_scores,
            training=training,
        )

    def attend(
        self,
        query,
        key,
        value,
        *,
        mask=None,
        query_mask=None,
        return_attention_scores=False,
        training=None,
    ):
        """Attend to keys that are projected already.

        Args:
            query: (batch, query, query width), not projected.
            key: from `project_key`.
            value: (batch, key, value width).
            mask: boolean, broadcastable to (batch, query, key).
            query_mask: boolean (batch, query), True at real positions.
            return_attention_scores: whether to return the scores as well.
            training: whether dropout is on.

        Returns:
            As `call`.
        """
        real = as_padding_mask(query_mask, "query_mask")
        if real is not None:
            mask = combine_masks(mask, real[:, :, None])
        return additive_attention(
            self.query_dense(query),
            key,
            ops.cast(value, self.compute_dtype),
            ops.cast(self.scale, self.compute_dtype),
            mask=mask,
            dropout=self.dropout if training else 0.0,
            seed=self.seed_generator,
            return_scores=return_attention_scores,
        )

    def compute_mask(self, query, query_mask=None):
        """Pass the query's padding mask on; scores carry none."""
        return query_mask

    def compute_output_shape(self, query_shape, value_shape, key_shape=None):
        """Shape of the output without scores."""
        return (*query_shape[:-1], value_shape[-1])

    def compute_output_spec(
        self, query, value, key=None, return_attention_scores=False, **kwargs
    ):
        """Symbolic output: a tensor, or the pair of output and scores."""
        _mask(*(kwargs.get(name) for name in MASKS))
        as_padding_mask(kwargs.get("query_mask"), "query_mask")
        shape = self.compute_output_shape(query.shape, value.shape)
        output = keras.KerasTensor(shape, dtype=self.compute_dtype)
        if not return_attention_scores:
            return output
        shape = (*query.shape[:2], value.shape[1])
        return output, keras.KerasTensor(shape, dtype=self.compute_dtype)

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


def _mask(*masks):
    """Combine masks to (batch, query or 1, key), `None` if there are none."""
    mask = attention_masks(*masks)
    if mask is not None and mask.shape[1] != 1:
        raise ValueError(
            "`attention_mask` of additive attention must have shape (batch, query, "
            f"key): it has no heads. Received: shape {tuple(mask.shape)}."
        )
    return None if mask is None else mask[:, 0]
