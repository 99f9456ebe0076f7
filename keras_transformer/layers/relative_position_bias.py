"""Trained biases of distances."""

import math

import keras
import numpy as np
from keras import ops

from keras_transformer.argument_checks import check_positive_integer
from keras_transformer.layers.distance_bias import DistanceBias


@keras.saving.register_keras_serializable(package="keras_transformer")
class RelativePositionBias(DistanceBias):
    """Add a trained number for each head and range of distances to the scores (T5).

    ```
    score_h(i, j) = q_i k_j / sqrt(d_k) + B[bucket(j - i), h]
    ```

    Of n buckets a direction, the first n / 2 are for one distance each: 0, 1, 2, ...
    The others are for ranges that grow with the logarithm of the distance d, and the
    last one has no end:

    ```
    bucket(d) = n/2 + floor(ln(d / (n/2)) / ln(max_distance / (n/2)) * n/2)
    ```

    With `bidirectional=True` half of the `num_buckets` are for keys after the query,
    else all are for keys up to it, and those after it, which a causal mask hides, fall
    to distance 0. `Transformer` sets this to `False` in its decoder.

    It is made for the `position` of `MultiHeadAttention`, of blocks and of
    `Transformer`, and takes the number of heads from there. One layer given to several
    blocks is one table for all of them, in a saved model too; but
    `keras.models.clone_model` copies blocks one by one, each with a table of its own.

    Args:
        num_buckets: number of ranges of distances; even if `bidirectional`.
        max_distance: distance from which on all are alike.
        bidirectional: whether keys after the query have buckets of their own.
        shared: whether a `Transformer` has one table for all blocks of its encoder and
            one for those of its decoder, as T5, and not one for each block.
        embeddings_initializer: initializer of the table.

    Raises:
        ValueError: for fewer than two buckets a direction, an odd number for two
            directions, or a `max_distance` within the distances of one bucket each.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import EncoderBlock, RelativePositionBias
        >>> relative = RelativePositionBias(num_buckets=8, max_distance=16)
        >>> block = EncoderBlock(2, 32, position=relative)
        >>> tuple(block(np.ones((1, 3, 8), "float32")).shape)
        (1, 3, 8)
        >>> tuple(relative.embeddings.shape)
        (8, 2)
        >>> print(relative.buckets(np.arange(-4, 5)))
        [2 2 2 1 0 5 6 6 6]

    Reference: Raffel et al., 2020, "Exploring the Limits of Transfer Learning with a
    Unified Text-to-Text Transformer", section 2.1.
    """

    def __init__(
        self,
        *,
        num_buckets=32,
        max_distance=128,
        bidirectional=True,
        shared=True,
        embeddings_initializer="uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.num_buckets = check_positive_integer("num_buckets", num_buckets)
        self.max_distance = check_positive_integer("max_distance", max_distance)
        self.bidirectional = bidirectional
        self.shared = shared
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)
        directions = 2 if bidirectional else 1
        if num_buckets < 2 * directions or num_buckets % directions:
            raise ValueError(
                f"`num_buckets` must be {'even and ' if bidirectional else ''}at least "
                f"{2 * directions} with bidirectional={bidirectional}. "
                f"Received: {num_buckets}."
            )
        if max_distance <= (exact := num_buckets // directions // 2):
            raise ValueError(
                f"`max_distance` must be above {exact}, the number of distances with a "
                f"bucket of their own. Received: {max_distance}."
            )

    def build(self, query_shape):
        """Create the table (num_buckets, heads)."""
        super().build(query_shape)
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.num_buckets, self.num_heads),
            initializer=self.embeddings_initializer,
            autocast=False,
        )

    def of_distances(self, distances):
        """Look the bias up, see `DistanceBias.of_distances`."""
        reach = self.max_distance
        buckets = self.buckets(np.arange(-reach, reach + 1))
        # All distances there are: (heads, 2 * reach + 1).
        table = ops.transpose(ops.take(self.embeddings, buckets, axis=0))
        places = ops.clip(distances, -reach, reach) + reach
        bias = ops.take(table, places, axis=1)  # (heads, batch, query, key)
        return ops.cast(ops.transpose(bias, (1, 0, 2, 3)), "float32")

    def buckets(self, distances):
        """Return the bucket of each distance, the key's position minus the query's.

        Args:
            distances: a NumPy array of integers.

        Returns:
            A NumPy array of integers in [0, num_buckets).
        """
        if self.bidirectional:
            number = self.num_buckets // 2
            ahead, distances = number * (distances > 0), np.abs(distances)
        else:
            number = self.num_buckets
            ahead, distances = 0, np.maximum(-distances, 0)
        exact = number // 2
        ratio = np.log(np.maximum(distances, exact) / exact)
        share = ratio / math.log(self.max_distance / exact)
        # The logarithms of a bound give a hair more or less than a whole number.
        far = exact + np.floor(share * (number - exact) + 1e-9).astype("int32")
        near = np.where(distances < exact, distances, np.minimum(far, number - 1))
        return (ahead + near).astype("int32")

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "num_buckets": self.num_buckets,
            "max_distance": self.max_distance,
            "bidirectional": self.bidirectional,
            "shared": self.shared,
            "embeddings_initializer": keras.initializers.serialize(
                self.embeddings_initializer
            ),
        }
