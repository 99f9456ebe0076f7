"""The encoder of token ids by itself."""

import keras

from keras_transformer.argument_checks import check_positive_integer
from keras_transformer.models.assembled_model import AssembledModel
from keras_transformer.models.assembly import (
    check_block_options,
    check_distinct_ids,
    checked_options,
)
from keras_transformer.models.encoder_parts import EncoderParts
from keras_transformer.models.position_choice import learned_length


@keras.saving.register_keras_serializable(package="keras_transformer")
class Encoder(AssembledModel):
    """Token ids to hidden states that see both sides, as a functional Keras model.

    The input is the token ids (batch, length), int32, padded with `pad_id` at the end;
    with segments it is `{"token_ids", "segment_ids"}`, both of that shape. The output
    is (batch, length, hidden_dim); what stands at padded positions is not defined, and
    does not reach real ones.

    The defaults have BERT's shape and its base size. `MaskedLanguageModel` and
    `TextClassifier` put a head on an encoder.

    Args:
        vocabulary_size: number of token ids.
        num_layers: number of blocks.
        hidden_dim: width of the model, d_model.
        num_heads: number of attention heads, h.
        intermediate_dim: width inside the feed-forward networks, d_ff.
        num_segments: number of segments that a sequence may consist of, 0 without
            segment ids; BERT has 2.
        dropout: share dropped of the embeddings and of each sublayer's output.
        attention_dropout: share dropped of the attention scores.
        activation: activation of the feed-forward networks.
        normalize_first: whether blocks normalise first (pre-norm). A last norm then
            ends the stack.
        normalize_embeddings: whether a norm stands between embeddings and dropout.
        normalization: `"layer"` or `"rms"`.
        layer_norm_epsilon: added to the variance in the normalisation.
        use_bias: whether projections and maps add a bias.
        num_key_value_heads: number of key and value heads, a divisor of `num_heads`.
        scale_embeddings: whether token vectors are multiplied by sqrt(d_model).
        position: `"sinusoidal"` or `"learned"`, added to the embeddings; `"rotary"`,
            `"alibi"` or `"relative"`, which work in self-attention; `None`; or a layer
            of either kind. Each block gets a copy of one for
            self-attention.
        max_length: number of learned positions, for `position="learned"` only; 512 if
            not given.
        pad_id: id of padding.
        seed: seed of all dropout; each layer gets one of its own from it.
        **block_options: other options of `EncoderBlock`: `attention`, `window`,
            `query_key_norm`, `intermediate_dropout`, `feed_forward` (`intermediate_dim`
            and `activation` are then not used) and `stochastic_depth`, whose rate grows
            linearly with the depth to the one given.
        name: name of the model.
        dtype: dtype policy of all layers, the global one if not given.

    Raises:
        ValueError: for sizes below 1, rates outside [0, 1), a width that `num_heads`
            does not divide, a `pad_id` outside the vocabulary.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import Encoder
        >>> model = Encoder(50, num_layers=1, hidden_dim=16, num_heads=2,
        ...                 intermediate_dim=32, max_length=8)
        >>> tuple(model(np.array([[5, 6, 7], [8, 9, 0]])).shape)
        (2, 3, 16)

    Reference: Devlin et al., 2019, "BERT: Pre-training of Deep Bidirectional
    Transformers for Language Understanding".
    """

    def __init__(
        self,
        vocabulary_size,
        *,
        num_layers=12,
        hidden_dim=768,
        num_heads=12,
        intermediate_dim=3072,
        num_segments=0,
        dropout=0.1,
        attention_dropout=0.1,
        activation="gelu",
        normalize_first=False,
        normalize_embeddings=True,
        normalization="layer",
        layer_norm_epsilon=1e-12,
        use_bias=True,
        num_key_value_heads=None,
        scale_embeddings=False,
        position="learned",
        max_length=None,
        pad_id=0,
        seed=None,
        name=None,
        dtype=None,
        **block_options,
    ):
        options = checked_options(
            vocabulary_size=vocabulary_size,
            num_layers=check_positive_integer("num_layers", num_layers),
            hidden_dim=hidden_dim,
            num_heads=num_heads,
            intermediate_dim=intermediate_dim,
            num_segments=num_segments,
            dropout=dropout,
            attention_dropout=attention_dropout,
            activation=activation,
            normalize_first=normalize_first,
            normalize_embeddings=normalize_embeddings,
            normalization=normalization,
            layer_norm_epsilon=layer_norm_epsilon,
            use_bias=use_bias,
            num_key_value_heads=num_key_value_heads,
            scale_embeddings=scale_embeddings,
            position=position,
            max_length=learned_length(position, max_length, 512),
            pad_id=pad_id,
            seed=seed,
            **check_block_options(block_options),
        )
        if num_segments != 0:
            check_positive_integer("num_segments", num_segments)
        check_distinct_ids({"pad_id": pad_id}, vocabulary_size)
        policy = keras.dtype_policies.get(dtype or keras.config.dtype_policy())
        parts = EncoderParts(options, policy)
        inputs = encoder_inputs(parts)
        super().__init__(
            inputs=inputs,
            outputs=parts.encode(inputs),
            parts=parts,
            policy=policy,
            name=name,
        )
        self.pad_id = pad_id

    @property
    def vocabulary_size(self):
        """Number of token ids."""
        return self.options["vocabulary_size"]

    @property
    def max_length(self):
        """Number of positions that the model can hold, `None` without a limit."""
        return self.parts.embedder.max_length


def encoder_inputs(parts):
    """Make the symbolic inputs of an encoder, or of a model with an encoder."""
    token_ids = keras.Input((None,), dtype="int32", name="token_ids")
    if parts.segments is None:
        return token_ids
    segment_ids = keras.Input((None,), dtype="int32", name="segment_ids")
    return {"token_ids": token_ids, "segment_ids": segment_ids}
