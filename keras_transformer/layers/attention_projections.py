"""The projections of multi-head attention."""

import keras

from keras_transformer.argument_checks import check_positive_integer, check_rate
from keras_transformer.layers.attention_choice import check_attention
from keras_transformer.layers.head_projection import HeadProjection
from keras_transformer.layers.initialization import initializer_for
from keras_transformer.layers.position_seam import (
    as_position,
    build_position,
    position_config,
    rotated,
    score_bias,
)
from keras_transformer.layers.sequence_shape import check_sequence_shape


class AttentionProjections(keras.layers.Layer):
    """What stands around the attention of each head: its maps in and out.

    Args:
        num_heads: as for `MultiHeadAttention`, like all others.
        key_dim: width of each head's query and key.
        value_dim: width of each head's value.
        dropout: share of the attention scores dropped in training.
        use_bias: whether the four projections add a bias.
        output_dim: width of the output.
        num_key_value_heads: number of key and value heads.
        position: positions in the attention itself.
        attention: name of the attention function.
        window: reach of each query.
        query_key_norm: whether queries and keys are normalised.
        kernel_initializer: initializer of the four kernels.
        bias_initializer: initializer of the four biases.
        seed: seed of the dropout.
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
        window=None,
        query_key_norm=False,
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
        self.attention = check_attention(attention, self.position, self.dropout)
        self.window = check_window(window)
        self.query_key_norm = query_key_norm
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
        self.query_norm = self._norm("query_norm", heads)
        self.key_norm = self._norm("key_norm", kv_heads)

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

    def _norm(self, name, heads):
        if not self.query_key_norm:
            return None
        norm = keras.layers.RMSNormalization(dtype=self.dtype_policy, name=name)
        norm.build((None, None, heads, self.key_dim))
        return norm

    def project_key_value(self, value, key=None, *, offset=0, positions=None):
        """Project to keys and values once, for any number of calls of `attend`.

        Args:
            value: (batch, key, width).
            key: (batch, key, width); `value` if not given.
            offset: position of the first row, an integer or scalar tensor.
            positions: int32 (batch, key), each row's position, for sequences that
                are packed one behind another; counted from `offset` if not given.

        Returns:
            Keys (batch, key, num_key_value_heads, key_dim) and values (batch, key,
            num_key_value_heads, value_dim).
        """
        key = self.key_dense(value if key is None else key)
        key = key if self.key_norm is None else self.key_norm(key)
        return rotated(self.position, key, offset, positions), self.value_dense(value)

    def project_query(self, query, *, offset=0, positions=None):
        """Project queries.

        Args:
            query: (batch, query, width).
            offset: position of the first row, an integer or scalar tensor.
            positions: int32 (batch, query), as for `project_key_value`.

        Returns:
            (batch, query, heads, key_dim), not yet scaled.
        """
        query = self.query_dense(query)
        query = query if self.query_norm is None else self.query_norm(query)
        return rotated(self.position, query, offset, positions)

    def score_bias(self, query_length, key_length, offset=0):
        """Return what `position` adds to the scores, or `None`."""
        return score_bias(self.position, query_length, key_length, offset)

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
            "position": position_config(self.position),
            "attention": self.attention,
            "window": self.window,
            "query_key_norm": self.query_key_norm,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "seed": self.seed,
        }


def check_window(window):
    """Check a `window` argument: a positive integer, or `None` for no limit."""
    return window if window is None else check_positive_integer("window", window)
