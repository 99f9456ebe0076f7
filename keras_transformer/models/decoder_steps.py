"""Steps through a stack of decoder blocks with their caches."""

from keras_transformer.layers.head_projection import flat_kernels, held_kernels
from keras_transformer.layers.key_value_cache import max_length_of
from keras_transformer.layers.lineage import check_lineage, written_by_oneself
from keras_transformer.layers.plain_graph import is_plain


def check_room(max_length, positions):
    """Raise `ValueError` if a model, whose limit may be `None`, has fewer positions."""
    if positions is not None and max_length > positions:
        raise ValueError(
            f"`max_length` must not exceed the model's {positions} positions. "
            f"Received: {max_length}."
        )


def step_kernels(blocks):
    """Bring the kernels of steps into shape before a loop, if that pays."""
    return None if is_plain() else flat_kernels(step_projections(blocks))


def step_projections(blocks):
    """List the projections of a step whose kernels can be held.

    The memory's keys and values are not of a step. Quantized kernels stay as they
    are: the product of integers comes before their scale.
    """
    projections = []
    for block in blocks:
        own = block.self_attention
        projections += [own.query_dense, own.key_dense, own.value_dense]
        projections += [own.output_dense]
        if block.has_cross_attention:
            cross = block.cross_attention
            projections += [cross.query_dense, cross.output_dense]
    return [part for part in projections if part.quantization_mode is None]


def moved_on(state, rows, index, hypotheses):
    """Check the state of a step, and note who writes the position `index`.

    Args:
        state: the lineage, `None` for single hypotheses, and the caches.
        rows: number of the step's rows, `None` if unknown.
        index: position of the step's tokens.
        hypotheses: number of hypotheses of each source.

    Returns:
        The lineage and the caches.

    Raises:
        ValueError: for another number of hypotheses than in `start`, or a lineage of
            another shape.
    """
    lineage, caches = state
    if (lineage is None) != (hypotheses == 1):
        raise ValueError(
            "`hypotheses` must be as it was in `start`, which made a state "
            f"{'without' if lineage is None else 'with'} a lineage. "
            f"Received: {hypotheses}."
        )
    if lineage is None:
        return None, caches
    check_lineage(lineage, rows, max_length_of(caches[0], hypotheses))
    return written_by_oneself(lineage, index, hypotheses), caches


def step_through(blocks, x, caches, index, *, kernels=None, cross=None, **options):
    """Decode the next position, or the next few.

    Args:
        blocks: the decoder blocks.
        x: (rows, new, hidden_dim).
        caches: the `"self"` part of each block's cache.
        index: position of the first new row.
        kernels: from `step_kernels`.
        cross: the `"cross"` part of each block's cache, if the blocks have one.
        **options: as for `DecoderBlock.step`.

    Returns:
        (rows, new, hidden_dim), and the caches.
    """
    written = []
    cross = [None] * len(blocks) if cross is None else cross
    with held_kernels(step_projections(blocks), kernels):
        for block, own, other in zip(blocks, caches, cross, strict=True):
            cache = {"self": own} if other is None else {"self": own, "cross": other}
            x, cache, *_ = block.step(x, cache, index, **options)
            written.append(cache["self"])
    return x, written
