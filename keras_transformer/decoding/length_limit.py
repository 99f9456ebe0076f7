"""How long a target may become."""

from keras import ops

RATIO = 2  # target positions for each source position
EXTRA = 16  # and a few more, for short sources
SMALLEST = 32


def target_limit(source_length, max_length):
    """Limit of target positions for a source, start token included.

    ```
    limit = min(2 * source_length + 16, max_length)
    ```

    It depends on the source alone, so that a sentence gets the same translation in
    any batch.

    Args:
        source_length: number of source positions, the end included; an integer or an
            integer tensor.
        max_length: largest limit.
    """
    limit = RATIO * source_length + EXTRA
    if isinstance(source_length, int):
        return min(limit, max_length)
    return ops.minimum(limit, max_length)


def capacities(max_length):
    """Sizes of the arrays that targets are written to, ascending.

    A decoding step costs more the larger its arrays are, and each size is a function
    to compile: powers of two from 32 are a compromise. The last is `max_length`.
    """
    sizes = []
    size = SMALLEST
    while size < max_length:
        sizes.append(size)
        size *= 2
    return [*sizes, max_length]
