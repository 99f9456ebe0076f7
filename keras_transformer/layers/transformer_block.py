"""What encoder and decoder blocks have in common."""

import keras

from keras_transformer.argument_checks import (
    check_choice,
    check_positive_integer,
    check_positive_number,
    check_rate,
)
from keras_transformer.attention import KERNELS
from keras_transformer.layers.attention_projections import check_window
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.initialization import initializer_for, seed_for
from keras_transformer.layers.multi_head_attention import MultiHeadAttention
from keras_transformer.layers.position_seam import as_position, position_config
from keras_transformer.layers.residual import NORMALIZATIONS, Residual


class TransformerBlock(keras.layers.Layer):
    """Options of a block, and its sublayers made from them.

    Args:
        num_heads: number of attention heads, h; must divide the input's width.
        intermediate_dim: width between the two maps of the feed-forward network, d_ff.
        dropout: share of each sublayer's output dropped in training, in [0, 1).
        attention_dropout: share of the attention scores dropped in training.
        activation: activation of the feed-forward network.
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
        intermediate_dim,
        *,
        dropout=0.0,
        attention_dropout=0.0,
        activation="relu",
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
        self.intermediate_dim = check_positive_integer(
            "intermediate_dim", intermediate_dim
        )
        self.dropout = check_rate("dropout", dropout)
        self.attention_dropout = check_rate("attention_dropout", attention_dropout)
        self.activation = keras.activations.get(activation)
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
        self.attention = check_choice("attention", attention, KERNELS)
        self.window = check_window(window)
        self.query_key_norm = query_key_norm
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.seed = seed

    def _make_self_attention(self, width):
        return self._make_attention(
            "self_attention",
            width,
            position=self.position,
            attention=self.attention,
            window=self.window,
        )

    def _make_attention(self, name, width, **options):
        if width % self.num_heads:
            raise ValueError(
                "`num_heads` must divide the width of the inputs. "
                f"Received: num_heads={self.num_heads}, width={width}."
            )
        return MultiHeadAttention(
            self.num_heads,
            width // self.num_heads,
            dropout=self.attention_dropout,
            use_bias=self.use_bias,
            num_key_value_heads=self.num_key_value_heads,
            query_key_norm=self.query_key_norm,
            **options,
            **self._sublayer_options(name),
        )

    def _build_feed_forward(self, shape):
        self.feed_forward = FeedForward(
            self.intermediate_dim,
            activation=self.activation,
            use_bias=self.use_bias,
            **self._sublayer_options("feed_forward"),
        )
        self.feed_forward.build(shape)
        self.feed_forward_residual = self._make_residual("feed_forward_residual")
        self.feed_forward_residual.build(shape)

    def _attend(self, attention, around, x, memory=None, **options):
        """Attend to `memory`, or `x` to itself, with the residual around it.

        Returns:
            The new `x`, and a list of the scores if they are asked for.
        """
        entered = around.enter(x)
        memory = entered if memory is None else memory
        attended = attention(entered, memory, **options)
        update, *scores = attended if isinstance(attended, tuple) else (attended,)
        return around(x, update, training=options.get("training")), scores

    def _transform(self, x, training=None):
        around = self.feed_forward_residual
        update = self.feed_forward(around.enter(x), training=training)
        return around(x, update, training=training)

    def _make_residual(self, name):
        return Residual(
            dropout=self.dropout,
            normalize_first=self.normalize_first,
            normalization=self.normalization,
            epsilon=self.layer_norm_epsilon,
            seed=seed_for(self.seed, name),
            dtype=self.dtype_policy,
            name=name,
        )

    def _sublayer_options(self, name):
        return {
            "kernel_initializer": initializer_for(self.kernel_initializer, name),
            "bias_initializer": initializer_for(self.bias_initializer, name),
            "seed": seed_for(self.seed, name),
            "dtype": self.dtype_policy,
            "name": name,
        }

    def compute_mask(self, inputs, mask=None):
        """Pass the inputs' Keras mask on; scores carry none."""
        return mask

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "intermediate_dim": self.intermediate_dim,
            "dropout": self.dropout,
            "attention_dropout": self.attention_dropout,
            "activation": keras.activations.serialize(self.activation),
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
