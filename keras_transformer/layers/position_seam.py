"""What a layer must offer to put positions into attention."""

import keras


def as_position(position):
    """Check a `position` argument, or restore it from its config.

    Args:
        position: `None`; a layer with `rotate(x, offset)` or
            `bias(query_length, key_length, offset)` or both; or its serialized config.

    Raises:
        ValueError: for anything else.
    """
    if isinstance(position, dict):
        position = keras.saving.deserialize_keras_object(position)
    if position is None or hasattr(position, "rotate") or hasattr(position, "bias"):
        return position
    raise ValueError(
        "`position` must be None or a layer with `rotate(x, offset)` or "
        f"`bias(query_length, key_length, offset)`. Received: {position!r}."
    )
