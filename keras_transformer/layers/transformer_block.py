"""What encoder and decoder blocks have in common."""

from keras_transformer.layers.block_options import BlockOptions
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.feed_forward_seam import takes_padding
from keras_transformer.layers.initialization import initializer_for, seed_for
from keras_transformer.layers.multi_head_attention import MultiHeadAttention
from keras_transformer.layers.residual import Residual


class TransformerBlock(BlockOptions):
    """The sublayers that a block makes from its options, and the paths through them."""

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
        if self.feed_forward is None:
            self.feed_forward = FeedForward(
                self.intermediate_dim,
                activation=self.activation,
                dropout=self.intermediate_dropout,
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

    def _transform(self, x, padding_mask=None, training=None):
        """Pass `x` through the feed-forward network, with the residual around it."""
        around = self.feed_forward_residual
        options = {"training": training}
        if takes_padding(self.feed_forward):
            options["padding_mask"] = padding_mask
        update = self.feed_forward(around.enter(x), **options)
        return around(x, update, training=training)

    def _make_residual(self, name):
        return Residual(
            dropout=self.dropout,
            stochastic_depth=self.stochastic_depth,
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
