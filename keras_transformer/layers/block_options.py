"""The options of encoder and decoder blocks."""

import keras

from keras_transformer.argument_checks import (
    check_choice,
    check_positive_integer,
    check_positive_number,
    check_rate,
)
from keras_transformer.layers.attention_choice import check_attention
from keras_transformer.layers.attention_projections import check_window
from keras_transformer.layers.feed_forward_seam import (
    feed_forward_config,
    feed_forward_copy,
)
from keras_transformer.layers.gated_activation import activation_config, as_activation
from keras_transformer.layers.initialization import seed_for
from keras_transformer.layers.position_seam import as_position, position_config
from keras_transformer.layers.residual import NORMALIZATIONS


class BlockOptions(keras.layers.Layer):
    """A block's options, checked, and the config that holds them.

    Args:
        num_heads: number of attention heads, h; must divide the input's width.
        intermediate_dim: width between the maps of the feed-forward network, d_ff;
            `None` if `feed_forward` is given.
        dropout: share of each sublayer's output dropped in training, in [0, 1).
        attention_dropout: share of the attention scores dropped in training.
        intermediate_dropout: share of the feed-forward network's intermediate units
            dropped in training.
        stochastic_depth: probability that a sample skips a sublayer in training, drawn
            for each of them, in [0, 1), see `Residual`.
        activation: activation of the feed-forward network, see `FeedForward`.
        feed_forward: a layer in the place of the `FeedForward` that is made from
            `intermediate_dim`, `activation`, `intermediate_dropout`, `use_bias` and the
            initializers; one with options of its own, as `MixtureOfExperts`. The block
            gets a copy, without weights, with the block's dtype and a seed from the
            block's if that has one. Its `call` gets `padding_mask` if it has such an
            argument.
        normalize_first: whether to normalise before each sublayer (pre-norm) and not
            after the residual sum, as the paper does (post-norm).
        normalization: `"layer"` or `"rms"`.
        layer_norm_epsilon: added to the variance in the normalisation.
        use_bias: whether projections and maps add a bias.
        num_key_value_heads: number of key and value heads, a divisor of `num_heads`.
        position: positions inside self-attention, see `MultiHeadAttention`.
        attention: name of the self-attention function, see `MultiHeadAttention`.
        window: reach of self-attention, see `MultiHeadAttention`.
        query_key_norm: whether heads normalise queries and keys.
        kernel_initializer: initializer of all kernels.
        bias_initializer: initializer of all biases.
        seed: seed of all dropout; each sublayer gets one of its own from it.
    """

    def __init__(
        self,
        num_heads,
        intermediate_dim=None,
        *,
        dropout=0.0,
        attention_dropout=0.0,
        intermediate_dropout=0.0,
        stochastic_depth=0.0,
        activation="relu",
        feed_forward=None,
        normalize_first=False,
        normalization="layer",
        layer_norm_epsilon=1e-5,
        use_bias=True,
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
        self.dropout = check_rate("dropout", dropout)
        self.attention_dropout = check_rate("attention_dropout", attention_dropout)
        self.stochastic_depth = check_rate("stochastic_depth", stochastic_depth)
        self.normalize_first = normalize_first
        self.normalization = check_choice(
            "normalization", normalization, NORMALIZATIONS
        )
        self.layer_norm_epsilon = check_positive_number(
            "layer_norm_epsilon", layer_norm_epsilon
        )
        self.use_bias = use_bias
        self.num_key_value_heads = num_key_value_heads
        self.position = as_position(position)
        self.attention = check_attention(
            attention, self.position, self.attention_dropout, "attention_dropout"
        )
        self.window = check_window(window)
        self.query_key_norm = query_key_norm
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.seed = seed
        self._take_feed_forward(
            feed_forward, intermediate_dim, activation, intermediate_dropout
        )

    def _take_feed_forward(self, layer, intermediate_dim, activation, dropout):
        """Keep what describes the feed-forward network: a layer, or options of one."""
        seed = seed_for(self.seed, "feed_forward")
        self.feed_forward = feed_forward_copy(layer, seed, self.dtype_policy)
        self.has_own_feed_forward = layer is not None
        self.activation = as_activation(activation)
        self.intermediate_dropout = check_rate("intermediate_dropout", dropout)
        self.intermediate_dim = None
        if layer is None:
            self.intermediate_dim = check_positive_integer(
                "intermediate_dim", intermediate_dim
            )
        elif (intermediate_dim, activation_config(self.activation), dropout) != (
            None, "relu", 0.0,
        ):  # fmt: skip
            raise ValueError(
                "`intermediate_dim`, `activation` and `intermediate_dropout` go to the "
                "layer that is given as `feed_forward`, not to the block. Received: "
                f"intermediate_dim={intermediate_dim!r}, activation={activation!r}, "
                f"intermediate_dropout={dropout!r}."
            )

    def get_config(self):
        """Return the constructor's arguments."""
        own = self.feed_forward if self.has_own_feed_forward else None
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "intermediate_dim": self.intermediate_dim,
            "dropout": self.dropout,
            "attention_dropout": self.attention_dropout,
            "intermediate_dropout": self.intermediate_dropout,
            "stochastic_depth": self.stochastic_depth,
            "activation": activation_config(self.activation),
            "feed_forward": feed_forward_config(own),
            "normalize_first": self.normalize_first,
            "normalization": self.normalization,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "use_bias": self.use_bias,
            "num_key_value_heads": self.num_key_value_heads,
            "position": position_config(self.position),
            "attention": self.attention,
            "window": self.window,
            "query_key_norm": self.query_key_norm,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "seed": self.seed,
        }
