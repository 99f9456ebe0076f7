"""Rotary positions."""

import keras
import numpy as np
from keras import ops

from keras_transformer.argument_checks import (
    check_positive_integer,
    check_positive_number,
)
from keras_transformer.layers.row_positions import check_row_positions, row_positions
from keras_transformer.layers.sequence_shape import (
    check_floating,
    check_heads_shape,
    target_shape,
)


@keras.saving.register_keras_serializable(package="keras_transformer")
class RotaryEmbedding(keras.layers.Layer):
    """Turn pairs of a head's features by angles that grow with the position.

    ```
    a' = a cos(pos r_i) - b sin(pos r_i)
    b' = a sin(pos r_i) + b cos(pos r_i)        r_i = 10000^(-2i / d)
    ```

    for the pair (a, b) number i of d features. Queries and keys are turned alike, so
    that their product depends on the distance of their positions only. There are no
    weights and no longest length. Angles are computed in float32, and the result is
    rounded once, to the dtype of what is turned.

    It is made for the `position` of `MultiHeadAttention`, of blocks and of
    `Transformer`. A pair is a feature of the first half and the one at the same place
    in the second half, as in Llama and in KerasHub; or two neighbours, as in the paper
    and in GPT-J, with `interleaved=True`. Weights trained with the one give nonsense
    with the other.

    For sequences longer than those trained on: `scaling_factor=s` divides positions by
    s, so that s times the length spans the same angles, best with some more training;
    or a base of `max_wavelength * s ** (d / (d - 2))` turns the slowest pair s times
    slower and leaves the fastest as it is ("NTK-aware").

    Args:
        max_wavelength: the base, 10000 in the paper.
        scaling_factor: number that positions are divided by.
        rotary_dim: number of a head's first features that are turned, d, an even
            number; all if not given.
        interleaved: whether a pair is two neighbours.

    Raises:
        ValueError: for numbers not above 0, an odd `rotary_dim` or one above the
            head's width, an odd `head_dim` without one.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import EncoderBlock, RotaryEmbedding
        >>> query = np.ones((1, 2, 1, 2), "float32")
        >>> print(np.round(RotaryEmbedding()(query)[0, :, 0], 3))
        [[ 1.     1.   ]
         [-0.301  1.382]]
        >>> block = EncoderBlock(2, 32, position=RotaryEmbedding())
        >>> tuple(block(np.ones((1, 3, 8), "float32")).shape)
        (1, 3, 8)

    References:
        - Su et al., 2021, "RoFormer: Enhanced Transformer with Rotary Position
          Embedding".
        - Chen et al., 2023, "Extending Context Window of Large Language Models via
          Positional Interpolation", for `scaling_factor`.
    """

    def __init__(
        self,
        *,
        max_wavelength=10000.0,
        scaling_factor=1.0,
        rotary_dim=None,
        interleaved=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.max_wavelength = check_positive_number("max_wavelength", max_wavelength)
        self.scaling_factor = check_positive_number("scaling_factor", scaling_factor)
        if rotary_dim is not None:
            check_positive_integer("rotary_dim", rotary_dim)
            _check_even("rotary_dim", rotary_dim)
        self.rotary_dim = rotary_dim
        self.interleaved = interleaved

    def build(self, inputs_shape):
        """Check the shape (batch, length, heads, head_dim); there are no weights."""
        check_heads_shape(inputs_shape)
        self._turned_dim(inputs_shape[-1])

    def call(self, inputs, start_index=0, positions=None):
        """Turn queries or keys.

        Args:
            inputs: (batch, length, heads, head_dim).
            start_index: position of the first row, an integer or scalar tensor.
            positions: int32 (batch, length), the position of each row, instead.

        Returns:
            A tensor of the inputs' shape and dtype.
        """
        check_floating(inputs)
        position = row_positions(inputs, start_index, positions)
        return self._turn(inputs, position[None] if positions is None else position)

    def rotate(self, x, offset=0):
        """Turn (batch, length, heads, head_dim), of which the first row is `offset`."""
        return self._turn(x, row_positions(x, offset)[None])

    def rotate_at(self, x, positions):
        """Turn (batch, length, heads, head_dim) at int32 positions (batch, length)."""
        return self._turn(x, row_positions(x, positions=positions))

    def _turn(self, x, positions):
        dim = self._turned_dim(x.shape[-1])
        rates = self.max_wavelength ** (-np.arange(0, dim, 2) / dim)
        rates = ops.convert_to_tensor(rates / self.scaling_factor, "float32")
        angles = ops.cast(positions, "float32")[..., None] * rates
        cos, sin = ops.cos(angles)[:, :, None], ops.sin(angles)[:, :, None]
        kept, turning = x[..., dim:], ops.cast(x[..., :dim], "float32")
        if self.interleaved:
            a, b = turning[..., 0::2], turning[..., 1::2]
        else:
            a, b = turning[..., : dim // 2], turning[..., dim // 2 :]
        pair = [a * cos - b * sin, a * sin + b * cos]  # (batch, length, heads, dim / 2)
        if self.interleaved:
            turned = ops.reshape(ops.stack(pair, axis=-1), target_shape(turning))
        else:
            turned = ops.concatenate(pair, axis=-1)
        turned = ops.cast(turned, x.dtype)
        if dim == x.shape[-1]:
            return turned
        return ops.concatenate([turned, kept], axis=-1)

    def _turned_dim(self, head_dim):
        if self.rotary_dim is None:
            _check_even("head_dim", head_dim)
            return head_dim
        if self.rotary_dim > head_dim:
            raise ValueError(
                f"`rotary_dim` must not exceed the width of a head, {head_dim}. "
                f"Received: {self.rotary_dim}."
            )
        return self.rotary_dim

    def compute_output_spec(self, inputs, start_index=0, positions=None):
        """Symbolic output, of the inputs' shape."""
        check_row_positions(inputs, start_index, positions)
        return keras.KerasTensor(inputs.shape, dtype=self.compute_dtype)

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "max_wavelength": self.max_wavelength,
            "scaling_factor": self.scaling_factor,
            "rotary_dim": self.rotary_dim,
            "interleaved": self.interleaved,
        }


def _check_even(name, size):
    if size % 2:
        raise ValueError(
            f"`{name}` must be even: features are turned in pairs. Received: {size}."
        )
