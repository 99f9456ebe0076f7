"""The layers of a convolutional encoder-decoder, and how they are connected."""

from keras import ops

from keras_transformer.layers import (
    ConvolutionalDecoderBlock,
    ConvolutionalEncoderBlock,
)
from keras_transformer.layers.byte_dropout import ByteDropout
from keras_transformer.layers.convolutional_encoder_block import HALF
from keras_transformer.layers.initialization import seed_for
from keras_transformer.models.embedder import Embedder
from keras_transformer.models.token_tables import token_tables


class ConvolutionalParts:
    """All layers of a `ConvolutionalSeq2Seq`, made from its options.

    Args:
        options: the arguments of `ConvolutionalSeq2Seq`, by name.
        policy: dtype policy of all layers.
    """

    def __init__(self, options, policy):
        self.options = options
        self.pad_id = options["pad_id"]
        tables = token_tables(options, policy)
        self.source_embedding, self.target_embedding, self.output_embedding = tables
        self.source = Embedder(self.source_embedding, "source", options, policy)
        self.target = Embedder(self.target_embedding, "target", options, policy)

        def part(kind, *arguments, name, **given):
            seed = seed_for(options["seed"], name)
            return kind(*arguments, **given, seed=seed, dtype=policy, name=name)

        sizes = {"kernel_size": options["kernel_size"], "dropout": options["dropout"]}
        encoders, decoders = options["num_layers"]
        self.encoder_blocks = [
            part(ConvolutionalEncoderBlock, **sizes, name=f"encoder_block_{i}")
            for i in range(encoders)
        ]
        self.decoder_blocks = [
            part(ConvolutionalDecoderBlock, **sizes, name=f"decoder_block_{i}")
            for i in range(decoders)
        ]
        self.output_dropout = part(
            ByteDropout, options["dropout"], name="output_dropout"
        )

    def padding_mask(self, ids):
        """Return the boolean mask (batch, length), True where ids are not padding."""
        return ops.not_equal(ids, self.pad_id)

    def encode(self, source_ids):
        """Encode ids.

        Args:
            source_ids: (batch, source).

        Returns:
            The memory (batch, source, hidden_dim), and what attention reads: the
            memory with the embeddings.
        """
        embedded, mask = self.source(source_ids), self.padding_mask(source_ids)
        x = embedded
        for block in self.encoder_blocks:
            x = block(x, padding_mask=mask)
        return x, (x + embedded) * HALF

    def decode(self, target_ids, encoded, source_ids):
        """Score whole targets.

        Args:
            target_ids: (batch, target).
            encoded: from `encode`.
            source_ids: (batch, source).

        Returns:
            The logits (batch, target, vocabulary).
        """
        embedded, mask = self.target(target_ids), self.padding_mask(source_ids)
        x = embedded
        for block in self.decoder_blocks:
            x = block(x, embedded, *encoded, memory_padding_mask=mask)
        return self.logits(x)

    def logits(self, x):
        """Score the vocabulary from the last block's output."""
        return self.output_embedding(self.output_dropout(x), reverse=True)

    def start(self, source_ids, max_length, hypotheses=1):
        """Encode a source, see `ConvolutionalSeq2Seq.start`."""
        memory, value = self.encode(source_ids)
        rows = ops.shape(source_ids)[0] * hypotheses
        windows = [block.start(rows) for block in self.decoder_blocks]
        mask = self.padding_mask(source_ids)
        return (windows, None), {"memory": memory, "value": value, "padding_mask": mask}

    def step(self, token_ids, state, index, shared, *, hypotheses=1):
        """Read one more target token, see `ConvolutionalSeq2Seq.step`."""
        embedded = self.target(token_ids[:, None], index)  # (rows, 1, hidden_dim)
        x, windows = embedded, []
        for block, window in zip(self.decoder_blocks, state[0], strict=True):
            x, window = block.step(
                x,
                window,
                embedded,
                shared["memory"],
                shared["value"],
                memory_padding_mask=shared["padding_mask"],
                hypotheses=hypotheses,
            )
            windows.append(window)
        return self.logits(x)[:, 0], (windows, None)
