"""Learned positions."""

import keras
from keras import ops

from keras_transformer.argument_checks import check_positive_integer
from keras_transformer.layers.known_values import known_values
from keras_transformer.layers.row_positions import check_row_positions, row_positions
from keras_transformer.layers.sequence_shape import (
    check_floating,
    check_sequence_shape,
)


@keras.saving.register_keras_serializable(package="keras_transformer")
class LearnedPositionalEncoding(keras.layers.Layer):
    """Add a trained vector for each position to the input.

    ```
    y[pos] = x[pos] + P[pos]
    ```

    Args:
        max_length: number of positions in the table.
        embeddings_initializer: initializer of the table.

    Raises:
        ValueError: if `max_length` is below 1, or a sequence is longer than the table.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import LearnedPositionalEncoding
        >>> layer = LearnedPositionalEncoding(max_length=16)
        >>> tuple(layer(np.zeros((2, 5, 8), "float32")).shape)
        (2, 5, 8)

    Reference: Gehring et al., 2017, "Convolutional Sequence to Sequence Learning".
    """

    def __init__(self, max_length, *, embeddings_initializer="uniform", **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.max_length = check_positive_integer("max_length", max_length)
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)

    def build(self, inputs_shape):
        """Create the table (max_length, width)."""
        check_sequence_shape(inputs_shape)
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.max_length, inputs_shape[-1]),
            initializer=self.embeddings_initializer,
        )

    def call(self, inputs, start_index=0, positions=None):
        """Add the position vectors.

        Args:
            inputs: (batch, length, width).
            start_index: position of the first row, an integer or scalar tensor.
            positions: int32 (batch, length), the position of each row instead, for
                sequences packed one behind another or padded on the left. Those of
                padding may be negative: nothing is added there.

        Returns:
            A tensor of the inputs' shape. Where length and index are only known when
            a compiled function runs, and for `positions`, rows past the table are NaN
            (or an error of the backend), never another position's vector.
        """
        check_floating(inputs)
        if positions is None:
            self._check_length(inputs.shape[1], start_index)
        else:
            self._check_positions(positions)
        position = row_positions(inputs, start_index, positions)
        known = ops.logical_and(position >= 0, position < self.max_length)
        rows = ops.take(self.embeddings, ops.where(known, position, 0), axis=0)
        rows = ops.where(known[..., None], rows, float("nan"))
        if positions is not None:
            # A NaN would pass through attention into every row, masked or not.
            rows = ops.where((position < 0)[..., None], 0.0, rows)
        return inputs + ops.cast(rows, inputs.dtype)

    def _check_length(self, length, start_index):
        if length is None or not isinstance(start_index, int):
            return
        if start_index < 0 or start_index + length > self.max_length:
            raise ValueError(
                f"The sequence does not fit into the table of positions, `max_length`="
                f"{self.max_length}. Received: length={length}, "
                f"start_index={start_index}."
            )

    def _check_positions(self, positions):
        values = known_values(positions)
        if values is not None and values.size and values.max() >= self.max_length:
            raise ValueError(
                f"`positions` must be below `max_length`={self.max_length}, the size "
                f"of the table. Received: {values.max()}."
            )

    def compute_output_shape(self, inputs_shape):
        """Shape of the inputs."""
        return inputs_shape

    def compute_output_spec(self, inputs, start_index=0, positions=None):
        """Symbolic output; a known length is checked against the table."""
        if check_row_positions(inputs, start_index, positions) is None:
            self._check_length(inputs.shape[1], start_index)
        return keras.KerasTensor(inputs.shape, dtype=self.compute_dtype)

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "max_length": self.max_length,
            "embeddings_initializer": keras.initializers.serialize(
                self.embeddings_initializer
            ),
        }
