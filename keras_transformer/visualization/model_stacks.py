"""A model as what a picture of it shows: stacks of blocks with their sizes."""

from dataclasses import dataclass, field

from keras_transformer.models import (
    Encoder,
    LanguageModel,
    MaskedLanguageModel,
    TextClassifier,
    Transformer,
)
from keras_transformer.visualization.block_parts import (
    Part,
    Weights,
    block_parts,
    norm_parts,
    shared_weights,
)


@dataclass(frozen=True)
class Stack:
    """One side of a model, from the input up.

    Attributes:
        source: what goes in.
        before: parts before the blocks.
        blocks: the blocks, all alike.
        block: parts of a block.
        after: parts behind the blocks.
        result: what comes out.
    """

    source: str
    before: list[Part]
    blocks: list
    block: list[Part]
    after: list[Part] = field(default_factory=list)
    result: str = ""


def model_stacks(model):
    """Describe a model.

    Args:
        model: a `Transformer`, `LanguageModel`, `Encoder`, `TextClassifier` or
            `MaskedLanguageModel`.

    Returns:
        A list of `Stack`; the second attends to the first.

    Raises:
        TypeError: for another model.
    """
    if isinstance(model, Transformer):
        return _of_transformer(model.parts)
    if isinstance(model, LanguageModel):
        return [_of_language_model(model.parts)]
    if isinstance(model, (TextClassifier, MaskedLanguageModel)):
        own = {id(weight) for weight in model.encoder.weights}
        head = [w for w in model.weights if id(w) not in own]
        part = Part("use", "Head", f"of a {type(model).__name__}", (Weights(head),))
        result = "classes" if isinstance(model, TextClassifier) else "logits"
        return [_of_encoder(model.encoder.parts, [part], result)]
    if isinstance(model, Encoder):
        return [_of_encoder(model.parts, [], "hidden states")]
    raise TypeError(
        "`model` must be a `Transformer`, `LanguageModel`, `Encoder`, `TextClassifier` "
        "or `MaskedLanguageModel`; `keras.utils.plot_model` draws any. "
        f"Received: {model!r}."
    )


def _of_transformer(parts):
    tables = parts.source_embedding, parts.target_embedding, parts.output_embedding
    encoder = Stack(
        "source ids",
        [
            _table(tables[0], "Token embedding"),
            *_input_parts(parts.source, parts.encoder_blocks),
        ],
        parts.encoder_blocks,
        block_parts(parts.encoder_blocks),
        norm_parts(parts.encoder_norm),
        "memory",
    )
    target = _table(tables[1], "Token embedding", {"the source's": tables[0]})
    output = _table(
        tables[2], "Logits", {"the source's": tables[0], "the target's": tables[1]}
    )
    decoder = Stack(
        "target ids",
        [target, *_input_parts(parts.target, parts.decoder_blocks)],
        parts.decoder_blocks,
        block_parts(parts.decoder_blocks, causal=True),
        [*norm_parts(parts.decoder_norm), output],
        "logits of the next token",
    )
    return [encoder, decoder]


def _of_language_model(parts):
    table, output = parts.embedding, parts.output_embedding
    return Stack(
        "token ids",
        [
            _table(table, "Token embedding"),
            *_input_parts(parts.embedder, parts.blocks),
        ],
        parts.blocks,
        block_parts(parts.blocks, causal=True),
        [*norm_parts(parts.norm), _table(output, "Logits", {"the embedding's": table})],
        "logits of the next token",
    )


def _of_encoder(parts, head, result):
    blocks = parts.stack.blocks
    return Stack(
        "token ids",
        [
            _table(parts.embedding, "Token embedding"),
            *_input_parts(parts.embedder, blocks),
        ],
        blocks,
        block_parts(blocks),
        [*norm_parts(parts.stack.norm), *head],
        result,
    )


def _table(table, name, earlier=()):
    """Return the part of a token table, which may be one that came before."""
    kind = "use" if name == "Logits" else "embed"
    for owner in earlier:
        if earlier[owner] is table:
            return Part(kind, name, f"same table as {owner}")
    return Part(kind, name, f"{table.vocabulary_size:,} tokens", (table,))


def _input_parts(embedder, blocks):
    """Return what follows the token table, and what all blocks share."""
    parts = []
    if embedder.segments is not None:
        count = f"{embedder.segments.vocabulary_size} segments"
        parts.append(Part("embed", "Segment embedding", count, (embedder.segments,)))
    if embedder.position is not None:
        layer = embedder.position
        limit = getattr(layer, "max_length", None)
        detail = type(layer).__name__ + (f", {limit:,} positions" if limit else "")
        parts.append(Part("embed", "Positions, added", detail, (layer,)))
    parts += norm_parts(embedder.norm)
    if shared := shared_weights(blocks):
        kind = type(blocks[0].self_attention.position).__name__
        part = Part("use", "Positions, in all blocks", kind, (Weights(shared),))
        parts.append(part)
    return parts
