"""The layers of a recurrent encoder-decoder, and how they are connected."""

import keras
from keras import ops

from keras_transformer.layers.byte_dropout import ByteDropout
from keras_transformer.layers.initialization import seed_for
from keras_transformer.layers.recurrent_decoder import RECURRENT, RecurrentDecoder
from keras_transformer.models.embedder import Embedder
from keras_transformer.models.token_tables import token_tables


class RecurrentParts:
    """All layers of a `RecurrentSeq2Seq`, made from its options.

    Args:
        options: the arguments of `RecurrentSeq2Seq`, by name.
        policy: dtype policy of all layers.
    """

    def __init__(self, options, policy):
        self.options = options
        self.pad_id = options["pad_id"]
        tables = token_tables(options, policy)
        self.source_embedding, self.target_embedding, self.output_embedding = tables
        given = {**options, "position": None, "max_length": None}
        self.source = Embedder(self.source_embedding, "source", given, policy)
        self.target = Embedder(self.target_embedding, "target", given, policy)
        encoders, decoders = options["num_layers"]
        self.encoder_layers = [
            self._reading_both_ways(f"encoder_layer_{i}", policy)
            for i in range(encoders)
        ]
        self.encoder_dropouts = [
            ByteDropout(
                options["dropout"],
                seed=seed_for(options["seed"], name),
                dtype=policy,
                name=name,
            )
            for name in (f"encoder_dropout_{i}" for i in range(encoders))
        ]
        self.decoder = RecurrentDecoder(
            options["hidden_dim"],
            cell=options["cell"],
            num_layers=decoders,
            dropout=options["dropout"],
            seed=seed_for(options["seed"], "decoder"),
            dtype=policy,
            name="decoder",
        )

    def _reading_both_ways(self, name, policy):
        layer = RECURRENT[self.options["cell"]](
            self.options["hidden_dim"],
            return_sequences=True,
            return_state=True,
            use_cudnn=False,  # which takes no padding but at the end
            dtype=policy,
        )
        return keras.layers.Bidirectional(layer, dtype=policy, name=name)

    def padding_mask(self, ids):
        """Return the boolean mask (batch, length), True where ids are not padding."""
        return ops.not_equal(ids, self.pad_id)

    def encode(self, source_ids):
        """Encode ids.

        Args:
            source_ids: (batch, source).

        Returns:
            The memory (batch, source, 2 * hidden_dim), and the last layer's state
            (batch, hidden_dim) that has read the source from its end to its first
            position.
        """
        x, mask, summary = self.source(source_ids), self.padding_mask(source_ids), None
        for layer, dropout in zip(
            self.encoder_layers, self.encoder_dropouts, strict=True
        ):
            x, *states = layer(x, mask=mask)
            summary = states[len(states) // 2]  # the first one of the way back
            x = dropout(x)
        return x, summary

    def decode(self, target_ids, encoded, source_ids):
        """Score whole targets.

        Args:
            target_ids: (batch, target).
            encoded: from `encode`.
            source_ids: (batch, source).

        Returns:
            The logits (batch, target, vocabulary).
        """
        mask = self.padding_mask(source_ids)
        x = self.decoder(self.target(target_ids), *encoded, memory_padding_mask=mask)
        return self.output_embedding(x, reverse=True)

    def start(self, source_ids, max_length, hypotheses=1):
        """Encode a source, see `RecurrentSeq2Seq.start`."""
        state, shared = self.decoder.start(
            *self.encode(source_ids),
            memory_padding_mask=self.padding_mask(source_ids),
            hypotheses=hypotheses,
        )
        return (state, None), shared

    def step(self, token_ids, state, index, shared, *, hypotheses=1):
        """Read one more target token, see `RecurrentSeq2Seq.step`."""
        x = self.target(token_ids[:, None], index)  # (rows, 1, hidden_dim)
        x, moved = self.decoder.step(x, state[0], shared, hypotheses=hypotheses)
        return self.output_embedding(x, reverse=True)[:, 0], (moved, None)
