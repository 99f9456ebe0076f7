"""The encoder block."""

import keras

from keras_transformer.attention import (
    as_attention_bias,
    as_attention_mask,
    as_padding_mask,
    real_positions,
)
from keras_transformer.layers.attention_choice import check_bias
from keras_transformer.layers.position_seam import as_positions
from keras_transformer.layers.sequence_shape import check_sequence_shape
from keras_transformer.layers.transformer_block import TransformerBlock


@keras.saving.register_keras_serializable(package="keras_transformer")
class EncoderBlock(TransformerBlock):
    """Self-attention and a feed-forward network, each with a residual around it.

    ```
    h = LayerNorm(x + MultiHead(x, x, x))
    y = LayerNorm(h + FFN(h))
    ```

    With `normalize_first=True` the norms stand before the sublayers instead; a stack
    of such blocks needs one more norm at its end. Blocks are stacked by passing the
    same masks to each.

    Args:
        num_heads: number of attention heads, h; must divide the input's width.
        intermediate_dim: width between the maps of the feed-forward network, d_ff;
            `None` if `feed_forward` is given.
        **options: the keyword options of `BlockOptions`: `dropout`,
            `attention_dropout`, `intermediate_dropout`, `stochastic_depth`,
            `activation`, `feed_forward`, `normalize_first`, `normalization`,
            `layer_norm_epsilon`, `use_bias`, `num_key_value_heads`, `position`,
            `attention`, `window`, `query_key_norm`, `kernel_initializer`,
            `bias_initializer`, `seed`, and those of every Keras layer.

    Raises:
        ValueError: for sizes below 1, rates outside [0, 1), or a width that
            `num_heads` does not divide.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import EncoderBlock
        >>> block = EncoderBlock(num_heads=2, intermediate_dim=32)
        >>> x = np.ones((2, 5, 8), "float32")
        >>> tuple(block(x, padding_mask=np.ones((2, 5), bool)).shape)
        (2, 5, 8)

    Reference: Vaswani et al., 2017, "Attention Is All You Need", section 3.1.
    """

    def build(self, inputs_shape):
        """Create the sublayers for the width of the inputs."""
        check_sequence_shape(inputs_shape)
        self.self_attention = self._make_self_attention(inputs_shape[-1])
        self.self_attention.build(inputs_shape, inputs_shape)
        self.self_attention_residual = self._make_residual("self_attention_residual")
        self.self_attention_residual.build(inputs_shape)
        self._build_feed_forward(inputs_shape)

    def call(
        self,
        inputs,
        padding_mask=None,
        attention_mask=None,
        mask=None,
        return_attention_scores=False,
        training=None,
        attention_bias=None,
        positions=None,
    ):
        """Encode. All masks that are given apply together.

        Args:
            inputs: (batch, length, width).
            padding_mask: boolean (batch, length), True at real positions.
            attention_mask: boolean (batch, query, key) or (batch, heads, query, key),
                True = may attend.
            mask: boolean (batch, length), the inputs' Keras mask; filled in by Keras.
            return_attention_scores: whether to return the scores as well.
            training: whether dropout is on.
            attention_bias: added to the scores, floating point (batch, query, key) or
                (batch, heads, query, key).
            positions: int32 (batch, length), where the rows don't count from 0, see
                `MultiHeadAttention.call`.

        Returns:
            (batch, length, width), or the pair of it and the scores (batch, heads,
            length, length). What stands at padded positions is not defined, and does
            not reach real ones.
        """
        real = real_positions(padding_mask, mask)
        x, scores = self._attend(
            self.self_attention,
            self.self_attention_residual,
            inputs,
            key_mask=real,
            attention_mask=attention_mask,
            attention_bias=attention_bias,
            positions=positions,
            return_attention_scores=return_attention_scores,
            training=training,
        )
        x = self._transform(x, real, training)
        return (x, *scores) if return_attention_scores else x

    def compute_output_shape(self, inputs_shape):
        """Shape of the inputs."""
        return inputs_shape

    def compute_output_spec(
        self,
        inputs,
        padding_mask=None,
        attention_mask=None,
        return_attention_scores=False,
        **kwargs,
    ):
        """Symbolic output: a tensor, or the pair of output and scores."""
        as_padding_mask(padding_mask)
        as_attention_mask(attention_mask)
        as_attention_bias(kwargs.get("attention_bias"))
        check_bias(self.attention, kwargs.get("attention_bias"))
        as_positions(kwargs.get("positions"), inputs.shape)
        output = keras.KerasTensor(inputs.shape, dtype=self.compute_dtype)
        if not return_attention_scores:
            return output
        batch, length, _ = inputs.shape
        scores = (batch, self.num_heads, length, length)
        return output, keras.KerasTensor(scores, dtype=self.compute_dtype)
