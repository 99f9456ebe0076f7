"""What layers have in common that add to the scores by the distance of positions."""

import keras
from keras import ops

from keras_transformer.layers.sequence_shape import check_heads_shape


class DistanceBias(keras.layers.Layer):
    """A number for each head and each distance, added to the attention scores.

    It is for the `position` of attention, which builds it, and is not called itself.
    A layer of this kind defines `of_distances`.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.num_heads = None  # known from `build` on

    def build(self, query_shape):
        """Take the number of heads from queries (batch, query, heads, head_dim)."""
        check_heads_shape(query_shape, "query")
        self.num_heads = query_shape[2]

    def bias(self, query_length, key_length, offset=0):
        """Compute the bias of rows that follow one another.

        Args:
            query_length: number of queries, an integer or scalar tensor.
            key_length: number of keys, which stand at positions from 0 on.
            offset: position of the first query, an integer or scalar tensor.

        Returns:
            float32 (1, heads, query, key).
        """
        query = ops.arange(query_length, dtype="int32") + offset
        key = ops.arange(key_length, dtype="int32")
        return self.of_distances((key[None, :] - query[:, None])[None])

    def bias_between(self, query_positions, key_positions):
        """Compute the bias of rows at positions of their own.

        Args:
            query_positions: int32 (batch, query).
            key_positions: int32 (batch, key).

        Returns:
            float32 (batch, heads, query, key).
        """
        query = ops.cast(query_positions, "int32")[:, :, None]
        key = ops.cast(key_positions, "int32")[:, None, :]
        return self.of_distances(key - query)

    def of_distances(self, distances):
        """Compute the bias of distances.

        Args:
            distances: int32 (batch, query, key), the key's position minus the query's.

        Returns:
            float32 (batch, heads, query, key).
        """
        raise NotImplementedError

    def get_config(self):
        """Return the constructor's arguments."""
        return super().get_config()
