"""Linear biases of attention."""

import keras
import numpy as np
from keras import ops

from keras_transformer.layers.distance_bias import DistanceBias


@keras.saving.register_keras_serializable(package="keras_transformer")
class AlibiBias(DistanceBias):
    """Lower the scores in proportion to the distance of query and key (ALiBi).

    ```
    score_h(i, j) = q_i k_j / sqrt(d_k) - m_h |i - j|
    m_h = 2^(-8h / n)                                      h = 1, ..., n
    ```

    for n heads. Where n is no power of two, the slopes are those of the next lower
    power p, and then the 1st, 3rd, 5th, ... of those of 2p. Nothing is trained, and
    the bias goes on beyond the lengths trained on. Under a causal mask it is that of
    the paper; without one it is the same in both directions.

    It is made for the `position` of `MultiHeadAttention`, of blocks and of
    `Transformer`, and takes the number of heads from there.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import AlibiBias, EncoderBlock
        >>> alibi = AlibiBias()
        >>> block = EncoderBlock(8, 32, position=alibi)
        >>> tuple(block(np.ones((1, 3, 16), "float32")).shape)
        (1, 3, 16)
        >>> print(np.array(alibi.bias(2, 3))[0, :2])
        [[[-0.   -0.5  -1.  ]
          [-0.5  -0.   -0.5 ]]
        <BLANKLINE>
         [[-0.   -0.25 -0.5 ]
          [-0.25 -0.   -0.25]]]

    Reference: Press et al., 2022, "Train Short, Test Long: Attention with Linear
    Biases Enables Input Length Extrapolation".
    """

    def of_distances(self, distances):
        """Compute `-m |distance|`, see `DistanceBias.of_distances`."""
        slopes = ops.convert_to_tensor(slopes_of(self.num_heads), "float32")
        distances = ops.cast(ops.abs(distances), "float32")[:, None]
        return -slopes[:, None, None] * distances  # (batch, heads, query, key)


def slopes_of(heads):
    """Return the slope of each head, a NumPy array."""
    power = 2 ** (heads.bit_length() - 1)  # the highest that is not above
    first = np.arange(1, power + 1) * 8 / power
    between = np.arange(1, 2 * power, 2) * 4 / power
    return 2.0 ** -np.concatenate([first, between])[:heads]
