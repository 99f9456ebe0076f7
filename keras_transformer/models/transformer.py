"""The encoder-decoder Transformer."""

import keras

from keras_transformer.models.assembled_model import AssembledModel
from keras_transformer.models.assembly import (
    check_block_options,
    check_special_ids,
    checked_options,
    layer_counts,
)
from keras_transformer.models.decoder_steps import check_room
from keras_transformer.models.transformer_parts import TransformerParts


@keras.saving.register_keras_serializable(package="keras_transformer")
class Transformer(AssembledModel):
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
        intermediate_dim: width inside the feed-forward networks, d_ff.
        dropout: share dropped of the embeddings and of each sublayer's output, P_drop.
        attention_dropout: share dropped of the attention scores.
        activation: activation of the feed-forward networks.
        normalize_first: whether blocks normalise first (pre-norm). A last norm then
            ends each stack.
        normalization: `"layer"` or `"rms"`.
        layer_norm_epsilon: added to the variance in the normalisation.
        use_bias: whether projections and maps add a bias.
        num_key_value_heads: number of key and value heads; `num_heads` if not given.
        tie_embeddings: `"all"` for one table of source, target and output, as in the
            paper; `"decoder"` for one of target and output; `"none"` for three. If
            not given, `"all"`, and `"decoder"` with a target vocabulary of its own.
        position: `"sinusoidal"`, `"learned"`, `None`; a layer to call on the scaled
            embeddings; or one that works in self-attention (`MultiHeadAttention`'s
            `position`).
        max_length: number of learned positions; for `position="learned"` only. Data
            to train on must not be longer: `TranslationData(max_length=...)`.
        pad_id: id of padding.
        end_id: id that ends a sequence.
        start_id: id that a target begins with.
        seed: seed of all dropout; each layer gets one of its own from it.
        **block_options: other options of `EncoderBlock`: `attention`, `window`,
            `query_key_norm`.
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
            vocabulary_size=vocabulary_size,
            target_vocabulary_size=(
                vocabulary_size
                if target_vocabulary_size is None
                else target_vocabulary_size
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
            pad_id=pad_id,
            end_id=end_id,
            start_id=start_id,
            seed=seed,
            **check_block_options(block_options),
        )
        check_special_ids(options)
        policy = keras.dtype_policies.get(dtype or keras.config.dtype_policy())
        parts = TransformerParts(options, policy)
        source = keras.Input((None,), dtype="int32", name="source_ids")
        target = keras.Input((None,), dtype="int32", name="target_ids")
        super().__init__(
            inputs={"source_ids": source, "target_ids": target},
            outputs=parts.decode(target, parts.encode(source), source),
            parts=parts,
            policy=policy,
            name=name,
        )
        self.pad_id, self.end_id, self.start_id = pad_id, end_id, start_id

    @property
    def vocabulary_size(self):
        """Number of token ids of the source."""
        return self.options["vocabulary_size"]

    @property
    def target_vocabulary_size(self):
        """Number of token ids of the target."""
        return self.options["target_vocabulary_size"]

    @property
    def max_length(self):
        """Number of positions that the model can hold, `None` without a limit."""
        limits = self.parts.source.max_length, self.parts.target.max_length
        return min((limit for limit in limits if limit is not None), default=None)

    def encode(self, source_ids):
        """Encode a source.

        Args:
            source_ids: int32 (batch, source), padded with `pad_id`.

        Returns:
            The memory (batch, source, hidden_dim).
        """
        return self.parts.encode(source_ids)

    def start(self, source_ids, max_length, *, hypotheses=1):
        """Encode a source and make the caches to decode from it.

        Args:
            source_ids: int32 (sources, source), padded with `pad_id`.
            max_length: number of target positions to make room for.
            hypotheses: number of hypotheses of each source.

        Returns:
            `(state, shared)`. `state` is what `step` changes, a pair: what moves with
            a hypothesis, with one row each (its lineage, int32 (rows, max_length), or
            `None` for single hypotheses), and the caches, which stay with the source.
            `shared` stays as it is.

        Raises:
            ValueError: if there are not that many learned positions.
        """
        check_room(max_length, self.max_length)
        return self.parts.start(source_ids, max_length, hypotheses)

    def step(self, token_ids, state, index, shared, *, hypotheses=1):
        """Read one more target token, and score the next.

        Args:
            token_ids: int32 (rows,), the tokens at position `index`; `rows` is
                `sources * hypotheses`, the hypotheses of a source are neighbours.
            state: from `start` or the step before. A search that goes on from other
                hypotheses takes their rows of the first part, and leaves the second.
            index: position of the tokens, an integer or scalar tensor.
            shared: from `start`.
            hypotheses: number of hypotheses of each source, as in `start`.

        Returns:
            The logits (rows, vocabulary) of the next token, and the new state.
        """
        return self.parts.step(token_ids, state, index, shared, hypotheses=hypotheses)
