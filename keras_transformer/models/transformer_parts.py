"""The layers of an encoder-decoder Transformer, and how they are connected."""

from keras import ops

from keras_transformer.layers import DecoderBlock
from keras_transformer.layers.lineage import own_line
from keras_transformer.models.assembly import (
    layer_counts,
    make_blocks,
    make_norm,
)
from keras_transformer.models.decoder_steps import (
    moved_on,
    step_kernels,
    step_through,
)
from keras_transformer.models.embedder import Embedder
from keras_transformer.models.encoder_stack import EncoderStack, run_block
from keras_transformer.models.token_tables import token_tables


class TransformerParts:
    """All layers of a `Transformer`, made from its options.

    Args:
        options: the arguments of `Transformer`, by name.
        policy: dtype policy of all layers.
    """

    def __init__(self, options, policy):
        self.options = options
        self.pad_id = options["pad_id"]
        self._make_embeddings(policy)
        self._make_blocks(policy)

    def _make_embeddings(self, policy):
        options = self.options
        tables = token_tables(options, policy)
        self.source_embedding, self.target_embedding, self.output_embedding = tables
        self.source = Embedder(self.source_embedding, "source", options, policy)
        self.target = Embedder(self.target_embedding, "target", options, policy)

    def _make_blocks(self, policy):
        options = self.options
        encoders, decoders = layer_counts(options["num_layers"])
        self.encoder = EncoderStack(encoders, options, policy)
        self.encoder_blocks = self.encoder.blocks
        self.decoder_blocks = make_blocks(
            DecoderBlock, decoders, "decoder", options, policy, causal=True
        )
        self.encoder_norm, self.decoder_norm = self.encoder.norm, None
        if options["normalize_first"]:
            self.decoder_norm = make_norm("decoder_norm", options, policy)

    def padding_mask(self, ids):
        """Return the boolean mask (batch, length), True where ids are not padding."""
        return ops.not_equal(ids, self.pad_id)

    def encode(self, source_ids, scores=None):
        """Encode ids to the memory.

        Args:
            source_ids: (batch, source).
            scores: a list, to which each block's attention scores are appended as a
                tuple of one, (batch, heads, source, source).

        Returns:
            The memory (batch, source, hidden_dim).
        """
        mask = self.padding_mask(source_ids)
        return self.encoder(self.source(source_ids), mask, scores)

    def decode(self, target_ids, memory, source_ids, scores=None):
        """Score whole targets.

        Args:
            target_ids: (batch, target).
            memory: (batch, source, hidden_dim).
            source_ids: (batch, source).
            scores: a list, to which each block's attention scores are appended as a
                pair, (batch, heads, target, target) and (batch, heads, target, source).

        Returns:
            The logits (batch, target, vocabulary).
        """
        x = self.target(target_ids)
        masks = {
            "padding_mask": self.padding_mask(target_ids),
            "memory_padding_mask": self.padding_mask(source_ids),
        }
        for block in self.decoder_blocks:
            x = run_block(block, x, memory, scores=scores, **masks)
        return self.logits(x)

    def logits(self, x):
        """Score the vocabulary from the last block's output."""
        if self.decoder_norm is not None:
            x = self.decoder_norm(x)
        return self.output_embedding(x, reverse=True)

    def start(self, source_ids, max_length, hypotheses=1):
        """Encode a source and make the caches, see `Transformer.start`."""
        memory = self.encode(source_ids)
        caches = [
            block.start(memory, max_length, hypotheses=hypotheses)
            for block in self.decoder_blocks
        ]
        shared = {
            "cross": [cache["cross"] for cache in caches],
            "padding_mask": self.padding_mask(source_ids),
            "kernels": step_kernels(self.decoder_blocks),
        }
        rows = ops.shape(source_ids)[0] * hypotheses
        lineage = own_line(rows, max_length, hypotheses) if hypotheses > 1 else None
        return (lineage, [cache["self"] for cache in caches]), shared

    def step(self, token_ids, state, index, shared, *, hypotheses=1):
        """Read one more target token, see `Transformer.step`."""
        lineage, caches = moved_on(state, token_ids.shape[0], index, hypotheses)
        x, new_caches = step_through(
            self.decoder_blocks,
            self.target(token_ids[:, None], index),  # (rows, 1, hidden_dim)
            caches,
            index,
            cross=shared["cross"],
            kernels=shared["kernels"],
            memory_padding_mask=shared["padding_mask"],
            hypotheses=hypotheses,
            lineage=lineage,
        )
        return self.logits(x)[:, 0], (lineage, new_caches)
