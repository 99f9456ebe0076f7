"""Multi-head attention."""

import math

import keras
from keras import ops

from keras_transformer.argument_checks import (
    check_choice,
    check_positive_integer,
    check_rate,
)
from keras_transformer.attention import (
    as_attention_mask,
    causal_mask,
    combine_masks,
    dot_product_attention,
    key_mask,
)
from keras_transformer.attention.masks import as_padding_mask
from keras_transformer.layers.head_projection import HeadProjection
from keras_transformer.layers.initialization import initializer_for
from keras_transformer.layers.position_seam import (
    as_position,
    build_position,
    rotated,
    score_bias,
)
from keras_transformer.layers.sequence_shape import check_sequence_shape

KERNELS = {"dot_product": dot_product_attention}


@keras.saving.register_keras_serializable(package="keras_transformer")
class MultiHeadAttention(keras.layers.Layer):
    """Several attention heads side by side, each with its own projections.

    ```
    MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O
    head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)
    ```

    Sublayer names, weight shapes and their order are those of
    `keras.layers.MultiHeadAttention`, so weights can be exchanged with `set_weights`.

    Args:
        num_heads: number of heads, h.
        key_dim: width of each head's query and key, d_k.
        value_dim: width of each head's value, d_v; `key_dim` if not given.
        dropout: share of the attention scores dropped in training, in [0, 1).
        use_bias: whether the four projections add a bias.
        output_dim: width of the output; the query's if not given.
        num_key_value_heads: number of key and value heads, a divisor of `num_heads`;
            each serves several query heads. `num_heads` if not given.
        position: a layer that puts positions into the attention itself, with one or
            both of `rotate(x, offset)`, for queries and keys (batch, length, heads,
            key_dim), and `bias(query_length, key_length, offset)`, added to the
            scores. `offset` is the position of the first row.
        attention: name of the attention function; `"dot_product"`.
        kernel_initializer: initializer of the four kernels.
        bias_initializer: initializer of the four biases.
        seed: seed of the dropout.

    Raises:
        ValueError: for a size below 1, a rate outside [0, 1), or a number of key-value
            heads that does not divide `num_heads`.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import MultiHeadAttention
        >>> attention = MultiHeadAttention(num_heads=2, key_dim=4)
        >>> x = np.ones((1, 3, 8), "float32")
        >>> output, scores = attention(x, x, return_attention_scores=True)
        >>> tuple(output.shape), tuple(scores.shape)
        ((1, 3, 8), (1, 2, 3, 3))

    Reference: Vaswani et al., 2017, "Attention Is All You Need", section 3.2.2.
    """

    def __init__(
        self,
        num_heads,
        key_dim,
        *,
        value_dim=None,
        dropout=0.0,
        use_bias=True,
        output_dim=None,
        num_key_value_heads=None,
        position=None,
        attention="dot_product",
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        seed=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.num_heads = check_positive_integer("num_heads", num_heads)
        self.key_dim = check_positive_integer("key_dim", key_dim)
        self.value_dim = check_positive_integer(
            "value_dim", key_dim if value_dim is None else value_dim
        )
        self.dropout = check_rate("dropout", dropout)
        self.use_bias = use_bias
        if output_dim is not None:
            check_positive_integer("output_dim", output_dim)
        self.output_dim = output_dim
        self.num_key_value_heads = check_positive_integer(
            "num_key_value_heads",
            num_heads if num_key_value_heads is None else num_key_value_heads,
        )
        if self.num_heads % self.num_key_value_heads:
            raise ValueError(
                "`num_key_value_heads` must divide `num_heads`. Received: "
                f"num_key_value_heads={num_key_value_heads}, num_heads={num_heads}."
            )
        self.position = as_position(position)
        self.attention = check_choice("attention", attention, KERNELS)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def build(self, query_shape, value_shape, key_shape=None):
        """Create the four projections."""
        for name, shape in (("query", query_shape), ("value", value_shape)):
            check_sequence_shape(shape, name)
        heads, kv_heads = self.num_heads, self.num_key_value_heads
        build_position(self.position, heads, self.key_dim)
        self.query_dense = self._project_in("query", heads, self.key_dim)
        self.key_dense = self._project_in("key", kv_heads, self.key_dim)
        self.value_dense = self._project_in("value", kv_heads, self.value_dim)
        self.output_dense = HeadProjection(
            "abcd,cde->abe",
            output_shape=(None, self.output_dim or query_shape[-1]),
            bias_axes="e" if self.use_bias else None,
            **self._projection_options("attention_output"),
        )
        self.query_dense.build(query_shape)
        self.key_dense.build(value_shape if key_shape is None else key_shape)
        self.value_dense.build(value_shape)
        self.output_dense.build((None, None, heads, self.value_dim))

    def _project_in(self, name, heads, head_dim):
        return HeadProjection(
            "abc,cde->abde",
            output_shape=(None, heads, head_dim),
            bias_axes="de" if self.use_bias else None,
            **self._projection_options(name),
        )

    def _projection_options(self, name):
        return {
            "kernel_initializer": initializer_for(self.kernel_initializer, name),
            "bias_initializer": initializer_for(self.bias_initializer, name),
            "dtype": self.dtype_policy,
            "name": name,
        }

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
        use_causal_mask=False,
    ):
        """Attend from `query` to `key`, and average `value`.

        All masks that are given apply together. A query that may attend to nothing
        gets a zero context, so the output projection's bias.

        Args:
            query: (batch, query, width).
            value: (batch, key, width).
            key: (batch, key, width); `value` if not given.
            query_mask: boolean (batch, query), True at real positions. Like the next
                two it is taken from the tensor's Keras mask if not given.
            value_mask: boolean (batch, key), True at real positions.
            key_mask: boolean (batch, key), True at real positions.
            attention_mask: boolean (batch, query, key) or (batch, heads, query, key),
                True = may attend.
            return_attention_scores: whether to return the scores as well.
            training: whether dropout is on.
            use_causal_mask: whether a query sees only keys up to its own position.

        Returns:
            (batch, query, output width), or the pair of it and the scores
            (batch, heads, query, key).

        Raises:
            ValueError: for a float mask, or an `attention_mask` of two axes.
        """
        mask = self._mask(query_mask, value_mask, key_mask, attention_mask)
        if use_causal_mask:
            lengths = ops.shape(query)[1], ops.shape(value)[1]
            mask = combine_masks(mask, causal_mask(*lengths))
        key, value = self.project_key_value(value, key)
        return self.attend(
            query,
            key,
            value,
            mask=mask,
            return_attention_scores=return_attention_scores,
            training=training,
        )

    def project_key_value(self, value, key=None, *, offset=0):
        """Project to keys and values once, for any number of calls of `attend`.

        Args:
            value: (batch, key, width).
            key: (batch, key, width); `value` if not given.
            offset: position of the first row, an integer or scalar tensor.

        Returns:
            Keys (batch, key, num_key_value_heads, key_dim) and values (batch, key,
            num_key_value_heads, value_dim).
        """
        key = self.key_dense(value if key is None else key)
        return rotated(self.position, key, offset), self.value_dense(value)

    def attend(
        self,
        query,
        key,
        value,
        *,
        mask=None,
        offset=0,
        return_attention_scores=False,
        training=None,
    ):
        """Attend to keys and values that are projected already.

        Args:
            query: (batch, query, width), not projected.
            key: from `project_key_value`.
            value: from `project_key_value`.
            mask: boolean, broadcastable to (batch, heads, query, key).
            offset: position of the first query, an integer or scalar tensor.
            return_attention_scores: whether to return the scores as well.
            training: whether dropout is on.

        Returns:
            As `call`.
        """
        query = self.query_dense(query)  # (batch, query, heads, key_dim)
        query = rotated(self.position, query, offset)
        lengths = ops.shape(query)[1], ops.shape(key)[1]
        bias = self.score_bias(*lengths, offset)
        shared_by = self.num_heads // self.num_key_value_heads
        if shared_by > 1:
            key = ops.repeat(key, shared_by, axis=2)
            value = ops.repeat(value, shared_by, axis=2)
        result = KERNELS[self.attention](
            query,
            key,
            value,
            mask=mask,
            bias=bias,
            dropout=self.dropout if training else 0.0,
            seed=self.seed_generator,
            return_scores=return_attention_scores,
        )
        if return_attention_scores:
            context, scores = result
            return self.output_dense(context), scores
        return self.output_dense(result)

    def project_query(self, query, *, offset=0):
        """Project and scale queries, to multiply them with keys.

        Args:
            query: (batch, query, width).
            offset: position of the first row, an integer or scalar tensor.

        Returns:
            (batch, query, heads, key_dim).
        """
        query = rotated(self.position, self.query_dense(query), offset)
        return query * ops.cast(1.0 / math.sqrt(self.key_dim), query.dtype)

    def score_bias(self, query_length, key_length, offset=0):
        """Return what `position` adds to the scores, or `None`."""
        return score_bias(self.position, query_length, key_length, offset)

    def _mask(self, query_mask, value_mask, key_mask_, attention_mask):
        rows = as_padding_mask(query_mask, "query_mask")
        return combine_masks(
            None if rows is None else rows[:, None, :, None],
            key_mask(value_mask, "value_mask"),
            key_mask(key_mask_, "key_mask"),
            as_attention_mask(attention_mask),
        )

    def compute_mask(self, query, query_mask=None):
        """Pass the query's padding mask on; scores carry none."""
        return query_mask

    def compute_output_shape(self, query_shape, value_shape, key_shape=None):
        """Shape of the output without scores."""
        return (*query_shape[:-1], self.output_dim or query_shape[-1])

    def compute_output_spec(
        self, query, value, key=None, return_attention_scores=False, **kwargs
    ):
        """Symbolic output: a tensor, or the pair of output and scores."""
        masks = ("query_mask", "value_mask", "key_mask", "attention_mask")
        self._mask(*(kwargs.get(name) for name in masks))
        shape = self.compute_output_shape(query.shape, value.shape)
        output = keras.KerasTensor(shape, dtype=self.compute_dtype)
        if not return_attention_scores:
            return output
        shape = (query.shape[0], self.num_heads, query.shape[1], value.shape[1])
        return output, keras.KerasTensor(shape, dtype=self.compute_dtype)

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "value_dim": self.value_dim,
            "dropout": self.dropout,
            "use_bias": self.use_bias,
            "output_dim": self.output_dim,
            "num_key_value_heads": self.num_key_value_heads,
            "position": keras.saving.serialize_keras_object(self.position),
            "attention": self.attention,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "seed": self.seed,
        }
