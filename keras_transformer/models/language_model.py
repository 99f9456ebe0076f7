"""The decoder by itself, a language model."""

import keras

from keras_transformer.argument_checks import check_choice, check_positive_integer
from keras_transformer.models.assembled_model import AssembledModel
from keras_transformer.models.assembly import (
    check_block_options,
    check_distinct_ids,
    checked_options,
)
from keras_transformer.models.decoder_steps import check_room
from keras_transformer.models.language_model_parts import LanguageModelParts
from keras_transformer.models.position_choice import learned_length


@keras.saving.register_keras_serializable(package="keras_transformer")
class LanguageModel(AssembledModel):
    """Token ids to the logits of the next token, as a functional Keras model.

    The input is the token ids (batch, length), int32, padded with `pad_id`; the output
    is (batch, length, vocabulary): at each position the logits of the token after it,
    from it and those before it. Positions count real tokens only, so that padding may
    stand before them, behind them, or on both sides.

    It trains with `fit`, where the labels are the ids one position on. It decodes
    position by position with `start` and `step`; `ContinuationGenerator` searches with
    them. The defaults have the shape of GPT-2 and its smallest size.

    Args:
        vocabulary_size: number of token ids.
        num_layers: number of blocks.
        hidden_dim: width of the model, d_model.
        num_heads: number of attention heads, h.
        intermediate_dim: width inside the feed-forward networks, d_ff.
        dropout: share dropped of the embeddings and of each sublayer's output.
        attention_dropout: share dropped of the attention scores.
        activation: activation of the feed-forward networks.
        normalize_first: whether blocks normalise first (pre-norm). A last norm then
            ends the stack.
        normalization: `"layer"` or `"rms"`.
        layer_norm_epsilon: added to the variance in the normalisation.
        use_bias: whether projections and maps add a bias.
        num_key_value_heads: number of key and value heads, a divisor of `num_heads`.
        tie_embeddings: whether the logits are of the token table.
        scale_embeddings: whether token vectors are multiplied by sqrt(d_model).
        position: `"sinusoidal"` or `"learned"`, added to the embeddings; `"rotary"`,
            `"alibi"` or `"relative"`, which work in self-attention; `None`; or a layer
            of either kind. One to add must take `positions`, int32 (batch, length), in
            its call. Each block gets a copy of one for self-attention.
        max_length: number of learned positions, for `position="learned"` only; 1024
            if not given.
        pad_id: id of padding.
        end_id: id that ends a sequence.
        seed: seed of all dropout; each layer gets one of its own from it.
        **block_options: other options of `DecoderBlock`: `attention`, `window`,
            `query_key_norm`, `intermediate_dropout`, `feed_forward` (`intermediate_dim`
            and `activation` are then not used) and `stochastic_depth`, whose rate grows
            linearly with the depth to the one given.
        name: name of the model.
        dtype: dtype policy of all layers, the global one if not given.

    Raises:
        ValueError: for sizes below 1, rates outside [0, 1), a width that `num_heads`
            does not divide, special ids outside the vocabulary.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import LanguageModel
        >>> model = LanguageModel(50, num_layers=1, hidden_dim=16, num_heads=2,
        ...                       intermediate_dim=32, max_length=8)
        >>> tuple(model(np.array([[5, 6, 7], [8, 9, 0]])).shape)
        (2, 3, 50)

    Reference: Radford et al., 2019, "Language Models are Unsupervised Multitask
    Learners".
    """

    def __init__(
        self,
        vocabulary_size,
        *,
        num_layers=12,
        hidden_dim=768,
        num_heads=12,
        intermediate_dim=3072,
        dropout=0.1,
        attention_dropout=0.1,
        activation="gelu",
        normalize_first=True,
        normalization="layer",
        layer_norm_epsilon=1e-5,
        use_bias=True,
        num_key_value_heads=None,
        tie_embeddings=True,
        scale_embeddings=False,
        position="learned",
        max_length=None,
        pad_id=0,
        end_id=1,
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
            dropout=dropout,
            attention_dropout=attention_dropout,
            activation=activation,
            normalize_first=normalize_first,
            normalization=normalization,
            layer_norm_epsilon=layer_norm_epsilon,
            use_bias=use_bias,
            num_key_value_heads=num_key_value_heads,
            tie_embeddings=check_choice(
                "tie_embeddings", tie_embeddings, (True, False)
            ),
            scale_embeddings=scale_embeddings,
            position=position,
            max_length=learned_length(position, max_length, 1024),
            pad_id=pad_id,
            end_id=end_id,
            seed=seed,
            **check_block_options(block_options),
        )
        check_distinct_ids({"pad_id": pad_id, "end_id": end_id}, vocabulary_size)
        policy = keras.dtype_policies.get(dtype or keras.config.dtype_policy())
        parts = LanguageModelParts(options, policy)
        token_ids = keras.Input((None,), dtype="int32", name="token_ids")
        super().__init__(
            inputs=token_ids,
            outputs=parts.decode(token_ids),
            parts=parts,
            policy=policy,
            name=name,
        )
        self.pad_id, self.end_id = pad_id, end_id

    @property
    def vocabulary_size(self):
        """Number of token ids."""
        return self.options["vocabulary_size"]

    @property
    def max_length(self):
        """Number of positions that the model can hold, `None` without a limit."""
        return self.parts.embedder.max_length

    def start(self, token_ids, max_length, *, hypotheses=1):
        """Read the head of each sequence at one go, and make the caches for the rest.

        Args:
            token_ids: int32 (rows, head), what stands before the first step; padded
                with `pad_id`, in front where heads have different lengths. A head may
                be empty, (rows, 0).
            max_length: number of positions to make room for, the head's included.
            hypotheses: number of hypotheses of each row.

        Returns:
            `(state, shared)`, as `Transformer.start`. The first step has the index
            `head`.

        Raises:
            ValueError: if the number of positions is unknown or below that of the head,
                or if there are not that many learned positions.
        """
        head = token_ids.shape[1]
        if head is None or max_length < max(head, 1):
            raise ValueError(
                "`max_length` must be at least 1 and the length of `token_ids`, which "
                f"must be known. Received: max_length={max_length}, length={head}."
            )
        check_room(max_length, self.max_length)
        return self.parts.start(token_ids, max_length, hypotheses)

    def step(self, token_ids, state, index, shared, *, hypotheses=1):
        """Read one more token, and score the next.

        Args:
            token_ids: int32 (rows * hypotheses,), the tokens at position `index`; the
                hypotheses of a row are neighbours.
            state: from `start` or the step before, see `Transformer.step`.
            index: position of the tokens, an integer or scalar tensor.
            shared: from `start`.
            hypotheses: number of hypotheses of each row, as in `start`.

        Returns:
            The logits (rows * hypotheses, vocabulary) of the next token, and the new
            state.
        """
        return self.parts.step(token_ids, state, index, shared, hypotheses=hypotheses)
