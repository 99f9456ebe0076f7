"""The layers of a decoder-only Transformer, and how they are connected."""

import inspect

from keras import ops

from keras_transformer.layers import DecoderBlock, TokenEmbedding
from keras_transformer.layers.lineage import own_line
from keras_transformer.models.assembly import make_blocks, make_norm
from keras_transformer.models.decoder_steps import (
    moved_on,
    step_kernels,
    step_through,
)
from keras_transformer.models.embedder import Embedder
from keras_transformer.models.position_choice import block_positions


class LanguageModelParts:
    """All layers of a `LanguageModel`, made from its options.

    Args:
        options: the arguments of `LanguageModel`, by name.
        policy: dtype policy of all layers.
    """

    def __init__(self, options, policy):
        self.options = options
        self.pad_id = options["pad_id"]

        def table(name):
            return TokenEmbedding(
                options["vocabulary_size"],
                options["hidden_dim"],
                scale=options["scale_embeddings"],
                dtype=policy,
                name=name,
            )

        self.embedding = table("token_embedding")
        self.output_embedding = (
            self.embedding if options["tie_embeddings"] else table("output_embedding")
        )
        self.embedder = Embedder(self.embedding, "token", options, policy)
        check_takes_positions(self.embedder.position)
        check_relative(options)
        self.blocks = make_blocks(
            DecoderBlock,
            options["num_layers"],
            "decoder",
            options,
            policy,
            causal=True,
            cross_attention=False,
        )
        self.norm = None
        if options["normalize_first"]:
            self.norm = make_norm("decoder_norm", options, policy)

    def padding_mask(self, ids):
        """Return the boolean mask (batch, length), True where ids are not padding."""
        return ops.not_equal(ids, self.pad_id)

    def decode(self, ids):
        """Score the token after each position of whole sequences.

        Args:
            ids: (batch, length).

        Returns:
            The logits (batch, length, vocabulary).
        """
        mask = self.padding_mask(ids)
        x = self.embedder(ids, positions=positions_of(mask))
        for block in self.blocks:
            x = block(x, padding_mask=mask)
        return self.logits(x)

    def logits(self, x):
        """Score the vocabulary from the last block's output."""
        x = x if self.norm is None else self.norm(x)
        return self.output_embedding(x, reverse=True)

    def start(self, ids, max_length, hypotheses=1):
        """Read the head of sequences, see `LanguageModel.start`."""
        rows, length = ops.shape(ids)[0], ids.shape[1]
        mask = self.padding_mask(ids)
        new = ops.ones((rows, max_length - length), "bool")
        real = ops.concatenate([mask, new], axis=1)  # (rows, max_length)
        caches = [
            block.start(max_length=max_length, batch_size=rows)["self"]
            for block in self.blocks
        ]
        if length:
            x = self.embedder(ids, positions=positions_of(mask))
            _, caches = step_through(self.blocks, x, caches, 0, padding_mask=real)
        lineage = None
        if hypotheses > 1:
            caches = [repeated(cache, hypotheses) for cache in caches]
            real = ops.repeat(real, hypotheses, axis=0)
            lineage = own_line(rows * hypotheses, max_length, hypotheses)
        padding = ops.sum(ops.cast(ops.logical_not(real), "int32"), axis=1)
        shared = {
            "padding_mask": real,
            "padding": ops.cast(padding, "int32"),
            "kernels": step_kernels(self.blocks),
        }
        return (lineage, caches), shared

    def step(self, token_ids, state, index, shared, *, hypotheses=1):
        """Read one more token, see `LanguageModel.step`."""
        lineage, caches = moved_on(state, token_ids.shape[0], index, hypotheses)
        positions = (index - shared["padding"])[:, None]
        x, caches = step_through(
            self.blocks,
            self.embedder(token_ids[:, None], positions=positions),
            caches,
            index,
            kernels=shared["kernels"],
            padding_mask=shared["padding_mask"],
            hypotheses=hypotheses,
            lineage=lineage,
        )
        return self.logits(x)[:, 0], (lineage, caches)


def positions_of(mask):
    """Count the real positions of each row of a mask (batch, length) from 0."""
    return ops.cast(ops.cumsum(ops.cast(mask, "int32"), axis=1), "int32") - 1


def repeated(cache, hypotheses):
    """Give each of a source's hypotheses what its one row has read."""
    axes = {"key": 3, "value": 2}
    return {
        name: [ops.repeat(block, hypotheses, axis=axes[name]) for block in blocks]
        for name, blocks in cache.items()
    }


def check_relative(options):
    """Raise `ValueError` for linear attention with rotated queries and keys.

    Its features of turned vectors depend on where these stand, not on their distance:
    padding in front would change what a model says.
    """
    layers = block_positions(options, 1, None)
    if options.get("attention") == "linear" and hasattr(layers[0], "rotate"):
        raise ValueError(
            '`position` must be "sinusoidal", "learned" or None with '
            f'`attention="linear"`. Received: {options["position"]!r}.'
        )


def check_takes_positions(layer):
    """Raise `ValueError` for a layer that counts the positions of all rows alike."""
    if layer is None or "positions" in inspect.signature(layer.call).parameters:
        return
    raise ValueError(
        "`position` must be a layer whose call takes `positions`, those of each row. "
        f"Received: {layer!r}."
    )
