"""The encoder-decoder Transformer."""

import keras

from keras_transformer.models.assembled_model import AssembledModel
from keras_transformer.models.assembly import (
    check_block_options,
    checked_options,
    layer_counts,
    vocabulary_options,
)
from keras_transformer.models.encoder_decoder import EncoderDecoder
from keras_transformer.models.transformer_parts import TransformerParts


@keras.saving.register_keras_serializable(package="keras_transformer")
class Transformer(EncoderDecoder):
    """The encoder-decoder of the paper as a functional Keras model.

    Inputs are `{"source_ids": (batch, source), "target_ids": (batch, target)}`, int32,
    padded with `pad_id`. The output is the logits (batch, target, vocabulary) of the
    token after each target position. It trains with `fit`, and decodes position by
    position with `start` and `step`.

    Args:
        vocabulary_size: number of token ids, of the source at least.
        target_vocabulary_size: number of token ids of the target, if it is another
            vocabulary.
        num_layers: number of blocks, N, in encoder and decoder; or a pair for both.
        hidden_dim: width of the model, d_model.
        num_heads: number of attention heads, h.
        intermediate_dim: width inside the feed-forward networks, d_ff; not used with
            `feed_forward`.
        dropout: share dropped of the embeddings and of each sublayer's output, P_drop.
        attention_dropout: share dropped of the attention scores.
        activation: activation of the feed-forward networks, see `FeedForward`.
        normalize_first: whether blocks normalise first (pre-norm). A last norm then
            ends each stack.
        normalization: `"layer"` or `"rms"`.
        layer_norm_epsilon: added to the variance in the normalisation.
        use_bias: whether projections and maps add a bias.
        num_key_value_heads: number of key and value heads; `num_heads` if not given.
        tie_embeddings: `"all"` for one table of source, target and output, as in the
            paper; `"decoder"` for one of target and output; `"none"` for three. If
            not given, `"all"`, and `"decoder"` with a target vocabulary of its own.
        position: `"sinusoidal"` or `"learned"`, added to the scaled embeddings;
            `"rotary"`, `"alibi"` or `"relative"`, which work in self-attention (see
            `RotaryEmbedding`, `AlibiBias`, `RelativePositionBias`); `None`; or a layer
            of either kind, to be called on the embeddings or for `MultiHeadAttention`'s
            `position`. Each side or block gets a copy of it.
        max_length: number of learned positions; for `position="learned"` only. Data
            to train on must not be longer: `TranslationData(max_length=...)`.
        pad_id: id of padding.
        end_id: id that ends a sequence.
        start_id: id that a target begins with.
        seed: seed of all dropout; each layer gets one of its own from it.
        **block_options: other options of `EncoderBlock`: `attention`, `window`,
            `query_key_norm`, `intermediate_dropout`, `stochastic_depth`,
            `feed_forward`. The rate of stochastic depth grows linearly with the depth:
            block l of the L of its stack has `stochastic_depth * l / L`.
        name: name of the model.
        dtype: dtype policy of all layers, the global one if not given.

    Raises:
        ValueError: for sizes below 1, rates outside [0, 1), a width that `num_heads`
            does not divide, tied tables of different sizes, special ids outside the
            vocabulary.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import Transformer
        >>> model = Transformer(50, num_layers=1, hidden_dim=16, num_heads=2,
        ...                     intermediate_dim=32)
        >>> source, target = np.array([[5, 6, 1]]), np.array([[2, 7]])
        >>> tuple(model({"source_ids": source, "target_ids": target}).shape)
        (1, 2, 50)

    Reference: Vaswani et al., 2017, "Attention Is All You Need".
    """

    def __init__(
        self,
        vocabulary_size,
        *,
        target_vocabulary_size=None,
        num_layers=6,
        hidden_dim=512,
        num_heads=8,
        intermediate_dim=2048,
        dropout=0.1,
        attention_dropout=0.0,
        activation="relu",
        normalize_first=False,
        normalization="layer",
        layer_norm_epsilon=1e-5,
        use_bias=True,
        num_key_value_heads=None,
        tie_embeddings=None,
        position="sinusoidal",
        max_length=None,
        pad_id=0,
        end_id=1,
        start_id=2,
        seed=None,
        name=None,
        dtype=None,
        **block_options,
    ):
        options = checked_options(
            **vocabulary_options(
                vocabulary_size, target_vocabulary_size, pad_id, end_id, start_id
            ),
            num_layers=layer_counts(num_layers),
            hidden_dim=hidden_dim,
            num_heads=num_heads,
            intermediate_dim=intermediate_dim,
            dropout=dropout,
            attention_dropout=attention_dropout,
            activation=activation,
            normalize_first=normalize_first,
            normalization=normalization,
            layer_norm_epsilon=layer_norm_epsilon,
            use_bias=use_bias,
            num_key_value_heads=num_key_value_heads,
            tie_embeddings=tie_embeddings,
            position=position,
            max_length=max_length,
            seed=seed,
            **check_block_options(block_options),
        )
        policy = keras.dtype_policies.get(dtype or keras.config.dtype_policy())
        super().__init__(TransformerParts(options, policy), policy, name)

    def quantize(self, mode=None, config=None, filters=None, **options):
        """Store kernels and token tables in 8 bits, see `AssembledModel.quantize`.

        Args:
            mode: `"int8"`.
            config: a `keras.quantizers.Int8QuantizationConfig` for the kernels.
            filters: regular expression of names of layers, or a list of them; layers
                with other names stay.
            **options: as for `keras.Model.quantize`.
        """
        AssembledModel.quantize(self, mode, config, filters, **options)


def check_transformer(model):
    """Raise `TypeError` unless a model is a `Transformer`."""
    if not isinstance(model, Transformer):
        raise TypeError(f"`model` must be a `Transformer`. Received: {model!r}.")
