"""The encoder-decoder Transformer."""

import keras

from keras_transformer.argument_checks import (
    check_positive_integer,
    check_positive_number,
    check_rate,
)
from keras_transformer.models.assembly import (
    check_block_options,
    check_special_ids,
    layer_counts,
)
from keras_transformer.models.quantization import (
    int8_count,
    layers_without_quantization,
    quantization_of,
    quantize_again,
)
from keras_transformer.models.transformer_parts import TransformerParts


@keras.saving.register_keras_serializable(package="keras_transformer")
class Transformer(keras.Model):
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
        policy = keras.dtype_policies.get(dtype or keras.config.dtype_policy())
        options = {
            "vocabulary_size": check_positive_integer(
                "vocabulary_size", vocabulary_size
            ),
            "target_vocabulary_size": (
                vocabulary_size
                if target_vocabulary_size is None
                else target_vocabulary_size
            ),
            "num_layers": layer_counts(num_layers),
            "hidden_dim": check_positive_integer("hidden_dim", hidden_dim),
            "num_heads": check_positive_integer("num_heads", num_heads),
            "intermediate_dim": check_positive_integer(
                "intermediate_dim", intermediate_dim
            ),
            "dropout": check_rate("dropout", dropout),
            "attention_dropout": check_rate("attention_dropout", attention_dropout),
            "activation": activation,
            "normalize_first": normalize_first,
            "normalization": normalization,
            "layer_norm_epsilon": check_positive_number(
                "layer_norm_epsilon", layer_norm_epsilon
            ),
            "use_bias": use_bias,
            "num_key_value_heads": num_key_value_heads,
            "tie_embeddings": tie_embeddings,
            "position": position,
            "max_length": max_length,
            "pad_id": pad_id,
            "end_id": end_id,
            "start_id": start_id,
            "seed": seed,
            **check_block_options(block_options),
        }
        check_special_ids(options)
        parts = TransformerParts(options, policy)
        source = keras.Input((None,), dtype="int32", name="source_ids")
        target = keras.Input((None,), dtype="int32", name="target_ids")
        logits = parts.decode(target, parts.encode(source), source)
        super().__init__(
            inputs={"source_ids": source, "target_ids": target},
            outputs=logits,
            name=name,
        )
        self.dtype_policy = policy  # Keras scales the loss of a mixed_float16 model
        self.parts, self._policy, self._quantizations = parts, policy, ()
        self.pad_id, self.end_id, self.start_id = pad_id, end_id, start_id

    @property
    def options(self):
        """The constructor's arguments, by name."""
        return self.parts.options

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
        if self.max_length is not None and max_length > self.max_length:
            raise ValueError(
                f"`max_length` must not exceed the model's {self.max_length} "
                f"positions. Received: {max_length}."
            )
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

    def quantize(self, mode=None, config=None, filters=None, **options):
        """Store kernels and token tables in 8 bits, to decode with.

        Keras quantizes the kernels and multiplies with them, by default after rounding
        what meets them to 8 bits too, each position by itself. Of token tables a row
        has a scale, and nothing else is rounded. Norms, biases and learned positions
        stay, and are what can still be trained: integers cannot, so that an optimizer
        is dropped.

        Args:
            mode: `"int8"`.
            config: a `keras.quantizers.Int8QuantizationConfig` for the kernels.
            filters: regular expression of names of layers, or a list of them; layers
                with other names stay.
            **options: as for `keras.Model.quantize`.

        Raises:
            ValueError: for another mode, a float16 model, filters that match no layer,
                or a layer that is quantized already.
            TypeError: for a function as filter, which could not be saved.
        """
        quantization, before = quantization_of(mode, config, filters), int8_count(self)
        given = {"mode": mode, "config": config, "filters": filters, **options}
        with layers_without_quantization():
            # Keras 3.12 has no filters, nor a config for this mode.
            super().quantize(**{k: v for k, v in given.items() if v is not None})
        if int8_count(self) == before:
            raise ValueError(
                f"`filters` must match the name of a layer. Received: {filters!r}."
            )
        self._quantizations = (*self._quantizations, quantization)
        self.optimizer, self.compiled = None, False

    def get_config(self):
        """Return the constructor's arguments, and quantizations if there are any."""
        position = self.options["position"]
        if not isinstance(position, str):
            position = keras.saving.serialize_keras_object(position)
        quantizations = list(self._quantizations)
        return {
            **({"quantizations": quantizations} if quantizations else {}),
            **self.options,
            "activation": keras.activations.serialize(
                keras.activations.get(self.options["activation"])
            ),
            "position": position,
            "name": self.name,
            "dtype": keras.dtype_policies.serialize(self._policy),
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """Make a model from `get_config`'s result."""
        quantizations = config.get("quantizations", ())
        options = {k: v for k, v in config.items() if k != "quantizations"}
        return quantize_again(cls(**options), quantizations)
