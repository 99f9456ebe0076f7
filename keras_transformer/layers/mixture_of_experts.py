"""A feed-forward network of several experts, of which each position uses a few."""

import keras
from keras import ops

from keras_transformer.argument_checks import (
    check_choice,
    check_nonnegative_number,
    check_positive_integer,
    check_rate,
)
from keras_transformer.attention import real_positions
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.gated_activation import activation_config, as_activation
from keras_transformer.layers.initialization import initializer_for, seed_for
from keras_transformer.layers.sequence_shape import check_sequence_shape


@keras.saving.register_keras_serializable(package="keras_transformer")
class MixtureOfExperts(keras.layers.Layer):
    """Feed-forward networks, of which a router chooses some for each position.

    ```
    p(x) = softmax(x W_r)
    y    = sum over the top_k experts i with the highest p_i of g_i FFN_i(x)
    g_i  = p_i / sum of p over these experts
    ```

    With `top_k=1` the only gate would always be 1, and the router would learn nothing
    of the task: there g is p itself. The router works in float32.

    In training a loss is added that is lowest where all experts have equal work: with
    f_i the share of expert i in all choices, and P_i the mean of p_i,

    ```
    loss = balance_weight * num_experts * sum over i of f_i P_i
    ```

    It is `balance_weight` where all is even, and padding does not count. `fit` adds it
    to the model's loss; a loop of your own adds up `model.losses`.

    No position is dropped: an expert has no limit. For that each expert works on each
    position, and the gates of those that are not chosen are 0. So a pass costs as much
    as `num_experts` feed-forward networks, whatever `top_k` is. Weights:
    `num_experts` times those of a `FeedForward`, and W_r, (width, num_experts).

    Args:
        num_experts: number of experts.
        intermediate_dim: width between the maps of an expert.
        top_k: number of experts that a position uses.
        activation: activation of the experts, see `FeedForward`.
        dropout: share of the intermediate units dropped in training, in [0, 1).
        use_bias: whether the experts' maps add a bias; the router has none.
        balance_weight: factor of the loss; 0 for none.
        kernel_initializer: initializer of the kernels, the router's included.
        bias_initializer: initializer of the biases.
        seed: seed of the dropout; each expert gets one of its own from it.

    Raises:
        ValueError: for sizes below 1, a `top_k` above `num_experts`, a rate outside
            [0, 1) or a negative weight.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import EncoderBlock, MixtureOfExperts
        >>> block = EncoderBlock(2, feed_forward=MixtureOfExperts(4, 16))
        >>> x = np.random.default_rng(0).normal(size=(2, 5, 8)).astype("float32")
        >>> tuple(block(x, training=True).shape), len(block.losses)
        ((2, 5, 8), 1)

    Reference: Shazeer et al., 2017, "Outrageously Large Neural Networks"; Fedus et al.,
    2021, "Switch Transformers", for the loss.
    """

    def __init__(
        self,
        num_experts,
        intermediate_dim,
        *,
        top_k=2,
        activation="relu",
        dropout=0.0,
        use_bias=True,
        balance_weight=0.01,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        seed=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.num_experts = check_positive_integer("num_experts", num_experts)
        self.intermediate_dim = check_positive_integer(
            "intermediate_dim", intermediate_dim
        )
        check_positive_integer("top_k", top_k)
        self.top_k = check_choice("top_k", top_k, range(1, self.num_experts + 1))
        self.activation = as_activation(activation)
        self.dropout = check_rate("dropout", dropout)
        self.use_bias = use_bias
        self.balance_weight = check_nonnegative_number("balance_weight", balance_weight)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.seed = seed

    def build(self, inputs_shape):
        """Create the router and the experts."""
        check_sequence_shape(inputs_shape)
        self.router = self.add_weight(
            (inputs_shape[-1], self.num_experts),
            initializer=initializer_for(self.kernel_initializer, "router"),
            name="router",
            autocast=False,  # half precision would choose other experts
        )
        self.experts = [self._expert(f"expert_{i}") for i in range(self.num_experts)]
        for expert in self.experts:
            expert.build(inputs_shape)

    def _expert(self, name):
        return FeedForward(
            self.intermediate_dim,
            activation=self.activation,
            dropout=self.dropout,
            use_bias=self.use_bias,
            kernel_initializer=initializer_for(self.kernel_initializer, name),
            bias_initializer=initializer_for(self.bias_initializer, name),
            seed=seed_for(self.seed, name),
            dtype=self.dtype_policy,
            name=name,
        )

    def call(self, inputs, padding_mask=None, mask=None, training=None):
        """Transform each position by the experts chosen for it.

        Args:
            inputs: (batch, length, width).
            padding_mask: boolean (batch, length), True at real positions: those that
                count in the loss. All are transformed.
            mask: boolean (batch, length), the inputs' Keras mask; filled in by Keras.
            training: whether dropout is on and the loss is added.

        Returns:
            (batch, length, width).
        """
        real = real_positions(padding_mask, mask)
        logits = ops.matmul(ops.cast(inputs, "float32"), self.router)
        # Not `softmax`, which warns of a single expert. (batch, length, experts)
        probabilities = ops.exp(ops.log_softmax(logits, axis=-1))
        _, indices = ops.top_k(probabilities, self.top_k)
        chosen = ops.sum(ops.one_hot(indices, self.num_experts), axis=-2)
        gates = probabilities * chosen
        if self.top_k > 1:
            gates = gates / ops.sum(gates, axis=-1, keepdims=True)
        if training and self.balance_weight:
            balance = load_balance(probabilities, chosen / self.top_k, real)
            self.add_loss(self.balance_weight * balance)
        gates = ops.cast(gates, self.compute_dtype)
        outputs = [expert(inputs, training=training) for expert in self.experts]
        return sum(gates[..., i, None] * y for i, y in enumerate(outputs))

    def compute_output_shape(self, inputs_shape):
        """Shape of the inputs."""
        return inputs_shape

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "num_experts": self.num_experts,
            "intermediate_dim": self.intermediate_dim,
            "top_k": self.top_k,
            "activation": activation_config(self.activation),
            "dropout": self.dropout,
            "use_bias": self.use_bias,
            "balance_weight": self.balance_weight,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "seed": self.seed,
        }


def load_balance(probabilities, shares, real=None):
    """Return what uneven use of experts costs: 1 where it is even.

    Args:
        probabilities: float32 (batch, length, experts), the router's.
        shares: float32 (batch, length, experts), how each position's work is split.
        real: boolean (batch, length), the positions that count, or `None` for all.

    Returns:
        A float32 scalar; 0 where no position counts.
    """
    weights = ops.ones_like(shares[..., :1])
    if real is not None:
        weights = ops.cast(real, "float32")[..., None]
    number = ops.maximum(ops.sum(weights), 1.0)
    means = [
        ops.sum(x * weights, axis=(0, 1)) / number for x in (probabilities, shares)
    ]
    return probabilities.shape[-1] * ops.sum(means[0] * means[1])
