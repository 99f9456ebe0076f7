"""The layers of an encoder-decoder Transformer, and how they are connected."""

from keras import ops

from keras_transformer.layers import DecoderBlock, EncoderBlock, TokenEmbedding
from keras_transformer.layers.head_projection import flat_kernels, held_kernels
from keras_transformer.layers.initialization import seed_for
from keras_transformer.layers.key_value_cache import max_length_of
from keras_transformer.layers.lineage import (
    check_lineage,
    own_line,
    written_by_oneself,
)
from keras_transformer.layers.plain_graph import is_plain
from keras_transformer.layers.residual import NORMALIZATIONS
from keras_transformer.models.assembly import (
    BLOCK_OPTIONS,
    block_positions,
    layer_counts,
    tying_of,
)
from keras_transformer.models.embedder import Embedder


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
        sizes = options["vocabulary_size"], options["target_vocabulary_size"]
        tying = tying_of(options["tie_embeddings"], *sizes)
        width = options["hidden_dim"]

        def table(name, size):
            return TokenEmbedding(size, width, dtype=policy, name=name)

        if tying == "all":
            self.source_embedding = table("token_embedding", sizes[0])
            self.target_embedding = self.source_embedding
        else:
            self.source_embedding = table("source_embedding", sizes[0])
            self.target_embedding = table("target_embedding", sizes[1])
        self.output_embedding = (
            table("output_embedding", sizes[1])
            if tying == "none"
            else self.target_embedding
        )
        self.source = Embedder(self.source_embedding, "source", options, policy)
        self.target = Embedder(self.target_embedding, "target", options, policy)

    def _make_blocks(self, policy):
        options = self.options
        names = (
            "num_heads", "intermediate_dim", "dropout", "attention_dropout",
            "activation", "normalize_first", "normalization", "layer_norm_epsilon",
            "use_bias", "num_key_value_heads",
        )  # fmt: skip
        shared = {
            name: options[name] for name in (*names, *BLOCK_OPTIONS) if name in options
        }
        encoders, decoders = layer_counts(options["num_layers"])

        def block(kind, name, position):
            seed = seed_for(options["seed"], name)
            return kind(**shared, position=position, seed=seed, dtype=policy, name=name)

        own = block_positions(options, encoders, policy)
        self.encoder_blocks = [
            block(EncoderBlock, f"encoder_block_{i}", own[i]) for i in range(encoders)
        ]
        own = block_positions(options, decoders, policy, causal=True)
        self.decoder_blocks = [
            block(DecoderBlock, f"decoder_block_{i}", own[i]) for i in range(decoders)
        ]
        self.encoder_norm = self.decoder_norm = None
        if options["normalize_first"]:
            norm = NORMALIZATIONS[options["normalization"]]
            epsilon = options["layer_norm_epsilon"]
            self.encoder_norm = norm(epsilon=epsilon, dtype=policy, name="encoder_norm")
            self.decoder_norm = norm(epsilon=epsilon, dtype=policy, name="decoder_norm")

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
        x, mask = self.source(source_ids), self.padding_mask(source_ids)
        for block in self.encoder_blocks:
            x = _run(block, x, scores=scores, padding_mask=mask)
        return x if self.encoder_norm is None else self.encoder_norm(x)

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
            x = _run(block, x, memory, scores=scores, **masks)
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
            "kernels": None if is_plain() else flat_kernels(self._step_projections()),
        }
        rows = ops.shape(source_ids)[0] * hypotheses
        lineage = own_line(rows, max_length, hypotheses) if hypotheses > 1 else None
        return (lineage, [cache["self"] for cache in caches]), shared

    def step(self, token_ids, state, index, shared, *, hypotheses=1):
        """Read one more target token, see `Transformer.step`."""
        lineage, caches = state
        if (lineage is None) != (hypotheses == 1):
            raise ValueError(
                "`hypotheses` must be as it was in `start`, which made a state "
                f"{'without' if lineage is None else 'with'} a lineage. "
                f"Received: {hypotheses}."
            )
        if lineage is not None:
            length = max_length_of(caches[0], hypotheses)
            check_lineage(lineage, token_ids.shape[0], length)
            lineage = written_by_oneself(lineage, index, hypotheses)
        x = self.target(token_ids[:, None], index)  # (rows, 1, hidden_dim)
        new_caches = []
        parts = zip(self.decoder_blocks, caches, shared["cross"], strict=True)
        with held_kernels(self._step_projections(), shared["kernels"]):
            for block, own, cross in parts:
                x, cache, *_ = block.step(
                    x,
                    {"self": own, "cross": cross},
                    index,
                    memory_padding_mask=shared["padding_mask"],
                    hypotheses=hypotheses,
                    lineage=lineage,
                )
                new_caches.append(cache["self"])
        return self.logits(x)[:, 0], (lineage, new_caches)

    def _step_projections(self):
        """The projections of a step whose kernels can be held.

        The memory's keys and values are not of a step. Quantized kernels stay as they
        are: the product of integers comes before their scale.
        """
        projections = []
        for block in self.decoder_blocks:
            own, cross = block.self_attention, block.cross_attention
            projections += [own.query_dense, own.key_dense, own.value_dense]
            projections += [own.output_dense, cross.query_dense, cross.output_dense]
        return [part for part in projections if part.quantization_mode is None]


def _run(block, *inputs, scores, **masks):
    """Call a block, and append its attention scores to a list if there is one."""
    if scores is None:
        return block(*inputs, **masks)
    x, *own = block(*inputs, **masks, return_attention_scores=True)
    scores.append(tuple(own))
    return x
