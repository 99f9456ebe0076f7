"""The loop of a search, one for each block of the caches."""

from keras import ops

from keras_transformer.layers.key_value_cache import block_ends
from keras_transformer.layers.known_values import promised_range


def loop_over_positions(unfinished, body, state, max_length, in_blocks, start=0):
    """`ops.while_loop` over the positions of a search.

    Where caches are in blocks, there is a loop for the positions of each: its steps
    know without asking which blocks are begun.

    Args:
        unfinished: `unfinished(index, *rest)`, whether to take another step.
        body: `body(index, *rest)`, a step; it returns the new `index` and rest.
        state: the first index and the rest, as a tuple.
        max_length: int, number of positions.
        in_blocks: whether the rest holds caches in blocks.
        start: int, the first index. Blocks that end before it have no loop.

    Returns:
        The last index and the rest.
    """
    ends = block_ends(max_length) if in_blocks else [max_length]
    for first, end in zip([0, *ends], ends, strict=False):
        if end <= start:
            continue

        def within(index, *rest, end=end):
            return ops.logical_and(index < end, unfinished(index, *rest))

        def bounded(index, *rest, first=first, end=end):
            with promised_range(index, max(first, start), end - 1):
                return body(index, *rest)

        state = ops.while_loop(within, bounded, state)
    return state
