"""Checks of token ids, as early as their values can be known."""

from keras import ops

from keras_transformer.layers.known_values import known_values


def check_integer_ids(ids, name="inputs"):
    """Raise `ValueError` unless the ids have an integer dtype."""
    if "int" not in str(ids.dtype):
        raise ValueError(
            f"`{name}` must be integer token ids; a `keras.Input` of them needs "
            f'`dtype="int32"`. Received: dtype {ids.dtype}.'
        )


def check_known_ids(ids, vocabulary_size, name="inputs"):
    """Raise `ValueError` for ids outside [0, vocabulary_size), where they are known."""
    values = known_values(ids)
    if values is None or values.size == 0:
        return
    low, high = int(values.min()), int(values.max())
    if low < 0 or high >= vocabulary_size:
        raise ValueError(
            f"`{name}` must be token ids from 0 to {vocabulary_size - 1} "
            f"(`vocabulary_size`={vocabulary_size}). "
            f"Received: ids from {low} to {high}."
        )


def out_of_range(ids, vocabulary_size):
    """Keep ids that are too small out of range, where they would count from the end.

    `keras.ops.take` reads -1 as the last row. Moved down by `vocabulary_size`, such an
    id ends as an error or NaN of the backend, like one that is too large.
    """
    return ops.where(ids < 0, ids - vocabulary_size, ids)
