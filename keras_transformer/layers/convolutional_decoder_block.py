"""One block of a convolutional decoder."""

from typing import Any

import keras
from keras import ops

from keras_transformer.argument_checks import check_positive_integer, check_rate
from keras_transformer.attention import (
    dot_product_attention,
    key_mask,
    real_positions,
)
from keras_transformer.attention.masks import as_padding_mask
from keras_transformer.layers.convolutional_encoder_block import HALF
from keras_transformer.layers.gated_convolution import GatedConvolution
from keras_transformer.layers.hypothesis_rows import check_rows
from keras_transformer.layers.sequence_shape import check_sequence_shape


@keras.saving.register_keras_serializable(package="keras_transformer")
class ConvolutionalDecoderBlock(keras.layers.Layer):
    """A causal gated convolution, attention to the source, and a residual connection.

    ```
    h = GLU(x * W + b)
    d = sqrt(0.5) (h W_d + b_d + g)
    c = sqrt(m) softmax(d z^T / sqrt(w)) v
    y = sqrt(0.5) (x + sqrt(0.5) (h + c W_c + b_c))
    ```

    `g` are the embeddings of the target, `z` the encoder's output, `v` what is read
    where `z` is looked for, `m` the number of real source positions: an average of m
    vectors is that much smaller than each. `w` is the width of `z`. The paper's scores
    have no divisor, but its embeddings begin with a variance of 0.01; here it is 1.

    Args:
        kernel_size: number of positions that the convolution sees, the last of which
            is the position itself.
        dropout: share of the convolution's inputs dropped in training, in [0, 1).
        seed: seed of the dropout.

    Raises:
        ValueError: for a size below 1 or a rate outside [0, 1).

    Examples:
        >>> import numpy as np
        >>> from keras_transformer.layers import ConvolutionalDecoderBlock
        >>> block = ConvolutionalDecoderBlock(kernel_size=3)
        >>> target = np.ones((2, 3, 8), "float32")
        >>> memory = np.ones((2, 5, 8), "float32")
        >>> tuple(block(target, target, memory, memory).shape)
        (2, 3, 8)

    Reference: Gehring et al., 2017, "Convolutional Sequence to Sequence Learning",
    sections 3.2 to 3.4.
    """

    def __init__(self, kernel_size, *, dropout=0.0, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.kernel_size = check_positive_integer("kernel_size", kernel_size)
        self.dropout = check_rate("dropout", dropout)
        self.seed = seed

    def build(self, inputs_shape, embedded_shape, memory_shape, value_shape):
        """Create convolution and maps for the widths of inputs, memory and value."""
        shapes = {
            "inputs": inputs_shape,
            "embedded": embedded_shape,
            "memory": memory_shape,
            "value": value_shape,
        }
        for name, shape in shapes.items():
            check_sequence_shape(shape, name)
        if embedded_shape[-1] != memory_shape[-1]:
            raise ValueError(
                "`embedded` and `memory` must have the same width. "
                f"Received: {embedded_shape[-1]} and {memory_shape[-1]}."
            )
        width, dtype = inputs_shape[-1], self.dtype_policy
        self.convolution = GatedConvolution(
            width,
            self.kernel_size,
            causal=True,
            dropout=self.dropout,
            seed=self.seed,
            dtype=dtype,
            name="convolution",
        )
        self.convolution.build(inputs_shape)
        self.query_dense = keras.layers.Dense(
            memory_shape[-1],
            kernel_initializer="lecun_normal",
            dtype=dtype,
            name="query",
        )
        self.query_dense.build((None, width))
        self.context_dense = keras.layers.Dense(
            width, kernel_initializer="lecun_normal", dtype=dtype, name="context"
        )
        self.context_dense.build((None, value_shape[-1]))

    def call(
        self,
        inputs,
        embedded,
        memory,
        value,
        memory_padding_mask=None,
        memory_mask=None,
        training=None,
    ):
        """Decode whole sequences.

        Args:
            inputs: (batch, target, width). Padding stands at the end, where no real
                position comes after it.
            embedded: (batch, target, memory width), the embeddings of the target.
            memory: (batch, source, memory width), the encoder's output.
            value: (batch, source, value width), what attention reads.
            memory_padding_mask: boolean (batch, source), True at real positions.
            memory_mask: boolean (batch, source), the memory's Keras mask; filled in
                by Keras.
            training: whether dropout is on.

        Returns:
            (batch, target, width).
        """
        mask = real_positions(memory_padding_mask, memory_mask, "memory_")
        h = self.convolution(inputs, training=training)
        return self._attend(inputs, h, embedded, memory, value, mask)

    def start(self, rows):
        """Make the window for `step`: (rows, kernel_size - 1, width), zeros."""
        return self.convolution.start(rows)

    def step(
        self,
        x,
        window,
        embedded,
        memory,
        value,
        *,
        memory_padding_mask=None,
        hypotheses=1,
    ):
        """Decode the next position.

        Args:
            x: (rows, 1, width); `rows` is `sources * hypotheses`.
            window: from `start` or the step before.
            embedded: (rows, 1, memory width).
            memory: (sources, source, memory width).
            value: (sources, source, value width).
            memory_padding_mask: boolean (sources, source), True at real positions.
            hypotheses: number of adjacent rows of `x` for each source.

        Returns:
            (rows, 1, width), and the new window.

        Raises:
            ValueError: for another number of rows than that of the window, or of
                sources and hypotheses.
        """
        check_rows(x, window, memory, hypotheses)
        x = ops.cast(x, self.compute_dtype)
        h, window = self.convolution.step(x, window)
        # A source's hypotheses are queries of one row: (sources, hypotheses, width).
        x, h, embedded = (
            ops.reshape(part, (-1, hypotheses, part.shape[-1]))
            for part in (x, h, ops.cast(embedded, self.compute_dtype))
        )
        y = self._attend(x, h, embedded, memory, value, memory_padding_mask)
        return ops.reshape(y, (-1, 1, y.shape[-1])), window

    def _attend(self, x, h, embedded, memory, value, mask):
        query = (self.query_dense(h) + embedded) * HALF
        context: Any = dot_product_attention(
            query[:, :, None],  # one head
            memory[:, :, None],
            value[:, :, None],
            mask=key_mask(mask, "memory_padding_mask"),
        )
        context = context[:, :, 0]
        if mask is None:
            number = ops.cast(ops.shape(memory)[1], "float32")
        else:
            number = ops.sum(ops.cast(mask, "float32"), axis=1)[:, None, None]
        context = context * ops.cast(ops.sqrt(number), context.dtype)
        return (x + (h + self.context_dense(context)) * HALF) * HALF

    def compute_output_shape(
        self, inputs_shape, embedded_shape=None, memory_shape=None, value_shape=None
    ):
        """Shape of the inputs."""
        return inputs_shape

    def compute_output_spec(self, inputs, *others, **kwargs):
        """Symbolic output."""
        as_padding_mask(kwargs.get("padding_mask"), "padding_mask")
        as_padding_mask(kwargs.get("memory_padding_mask"), "memory_padding_mask")
        return keras.KerasTensor(inputs.shape, dtype=self.compute_dtype)

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "kernel_size": self.kernel_size,
            "dropout": self.dropout,
            "seed": self.seed,
        }
