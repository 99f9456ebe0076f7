"""Multi-head attention."""

import keras
from keras import ops

from keras_transformer.attention import (
    KERNELS,
    added_biases,
    as_attention_bias,
    attention_masks,
)
from keras_transformer.attention.masks import MASKS, as_padding_mask
from keras_transformer.layers.attention_choice import check_bias
from keras_transformer.layers.attention_projections import AttentionProjections
from keras_transformer.layers.position_seam import as_positions, position_bias


@keras.saving.register_keras_serializable(package="keras_transformer")
class MultiHeadAttention(AttentionProjections):
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
            each serves several query heads (grouped-query attention; 1 is
            multi-query). `num_heads` if not given.
        position: a layer that puts positions into the attention itself:
            `RotaryEmbedding`, `AlibiBias`, `RelativePositionBias`, or one with one or
            both of `rotate(x, offset)`, for queries and keys (batch, length, heads,
            key_dim), and `bias(query_length, key_length, offset)`, added to the
            scores. `offset` is the position of the first row.
        attention: name of the attention function: `"dot_product"`; `"blockwise"`, the
            same result in memory linear in the length; or `"linear"`, another function
            at linear cost, without dropout and without biases of the scores.
        window: a query at position i sees keys at distances |i - j| < `window` only,
            so the last `window` ones under a causal mask. No limit if not given.
        query_key_norm: whether each head's queries and keys are normalised (RMS, with
            trained scales) before positions and product.
        kernel_initializer: initializer of the four kernels.
        bias_initializer: initializer of the four biases.
        seed: seed of the dropout.

    Raises:
        ValueError: for a size below 1, a rate outside [0, 1), a number of key-value
            heads that does not divide `num_heads`, or linear attention with dropout or
            a `position` that has a `bias`.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import MultiHeadAttention
        >>> attention = MultiHeadAttention(num_heads=2, key_dim=4)
        >>> x = np.ones((1, 3, 8), "float32")
        >>> output, scores = attention(x, x, return_attention_scores=True)
        >>> tuple(output.shape), tuple(scores.shape)
        ((1, 3, 8), (1, 2, 3, 3))

    References:
        - Vaswani et al., 2017, "Attention Is All You Need", section 3.2.2.
        - Shazeer, 2019, "Fast Transformer Decoding", for shared keys and values;
          Ainslie et al., 2023, "GQA", for groups.
        - Henry et al., 2020, "Query-Key Normalization for Transformers".
        - Beltagy et al., 2020, "Longformer", section 3.1, for windows.
    """

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
        attention_bias=None,
        positions=None,
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
            attention_bias: added to the scaled scores, floating point (batch, query,
                key) or (batch, heads, query, key); any axis may be 1.
            positions: int32 (batch, length), the position of each row of queries and
                keys for the `position` layer, where they don't count from 0: for
                sequences packed one behind another or padded on the left. Masks and
                windows count rows. (A bias by distance then has all pairs, which
                `"blockwise"` otherwise does without.)

        Returns:
            (batch, query, output width), or the pair of it and the scores
            (batch, heads, query, key).

        Raises:
            ValueError: for a float mask, or an `attention_mask` of two axes.
        """
        mask = attention_masks(value_mask, key_mask, attention_mask)
        check_bias(self.attention, attention_bias)
        positions = as_positions(positions, query.shape, value.shape)
        key, value = self.project_key_value(value, key, positions=positions)
        return self.attend(
            query,
            key,
            value,
            mask=mask,
            query_mask=query_mask,
            bias=as_attention_bias(attention_bias),
            positions=positions,
            causal=use_causal_mask,
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
        bias=None,
        positions=None,
        causal=False,
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
            query_mask: boolean (batch, query), True at real positions.
            bias: added to the scores, broadcastable to (batch, heads, query, key).
            positions: int32 (batch, length), as for `call`.
            causal: whether a query sees only keys up to its own row.
            offset: position of the first query, an integer or scalar tensor.
            return_attention_scores: whether to return the scores as well.
            training: whether dropout is on.

        Returns:
            As `call`.
        """
        query = self.project_query(query, offset=offset, positions=positions)
        lengths = ops.shape(query)[1], ops.shape(key)[1]
        own, bias_at = position_bias(self.position, *lengths, offset, positions)
        shared_by = self.num_heads // self.num_key_value_heads
        if shared_by > 1:
            key = ops.repeat(key, shared_by, axis=2)
            value = ops.repeat(value, shared_by, axis=2)
        result = KERNELS[self.attention](
            query,
            key,
            value,
            mask=mask,
            bias=added_biases(bias, own),
            bias_at=bias_at,
            causal=causal,
            window=self.window,
            offset=offset,
            dropout=self.dropout if training else 0.0,
            seed=self.seed_generator,
            return_scores=return_attention_scores,
        )
        context, *scores = result if return_attention_scores else (result,)
        # A padded query attends to nothing, which no mask of its size has to tell.
        real = as_padding_mask(query_mask, "query_mask")
        if real is not None:
            context = ops.where(real[:, :, None, None], context, 0.0)
            scores = [ops.where(real[:, None, :, None], x, 0.0) for x in scores]
        output = self.output_dense(context)
        return (output, *scores) if return_attention_scores else output

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
        attention_masks(*(kwargs.get(name) for name in MASKS))
        as_padding_mask(kwargs.get("query_mask"), "query_mask")
        as_attention_bias(kwargs.get("attention_bias"))
        check_bias(self.attention, kwargs.get("attention_bias"))
        as_positions(kwargs.get("positions"), query.shape, value.shape)
        shape = self.compute_output_shape(query.shape, value.shape)
        output = keras.KerasTensor(shape, dtype=self.compute_dtype)
        if not return_attention_scores:
            return output
        shape = (query.shape[0], self.num_heads, query.shape[1], value.shape[1])
        return output, keras.KerasTensor(shape, dtype=self.compute_dtype)
