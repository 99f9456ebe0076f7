"""What all encoder-decoder models have in common."""

import keras

from keras_transformer.models.assembled_model import AssembledModel
from keras_transformer.models.decoder_steps import check_room


class EncoderDecoder(AssembledModel):
    """A functional model from source and target ids to logits.

    Inputs are `{"source_ids": (batch, source), "target_ids": (batch, target)}`, int32,
    padded with `pad_id`. The output is the logits (batch, target, vocabulary) of the
    token after each target position. It trains with `fit`, and decodes position by
    position with `start` and `step`.

    Args:
        parts: the layers, with `encode(source_ids)`, `decode(target_ids, encoded,
            source_ids)`, `start` and `step`; `options`, the constructor's arguments;
            and `source` and `target`, the `Embedder`s.
        policy: dtype policy of all layers.
        name: name of the model.
    """

    def __init__(self, parts, policy, name):
        source = keras.Input((None,), dtype="int32", name="source_ids")
        target = keras.Input((None,), dtype="int32", name="target_ids")
        logits = parts.decode(target, parts.encode(source), source)
        super().__init__(
            inputs={"source_ids": source, "target_ids": target},
            outputs=logits,
            parts=parts,
            policy=policy,
            name=name,
        )
        self.pad_id = parts.options["pad_id"]
        self.end_id = parts.options["end_id"]
        self.start_id = parts.options["start_id"]

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
            The memory (batch, source, width).
        """
        return self.parts.encode(source_ids)

    def start(self, source_ids, max_length, *, hypotheses=1):
        """Encode a source and make the state to decode from it.

        Args:
            source_ids: int32 (sources, source), padded with `pad_id`.
            max_length: number of target positions to make room for.
            hypotheses: number of hypotheses of each source.

        Returns:
            `(state, shared)`. `state` is what `step` changes, a pair: what moves with
            a hypothesis, with one row each, or `None`; and the caches, which stay with
            the source, or `None`. `shared` stays as it is.

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

    def quantize(self, mode=None, config=None, filters=None, **options):
        """Refuse: the weights of this model cannot be stored in 8 bits.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            "Of the encoder-decoder models only a `Transformer` can be quantized. "
            f"Received: a {type(self).__name__}."
        )
