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


def build_position(position, heads, key_dim):
    """Build a position layer, for queries (batch, length, heads, key_dim).

    It is not called as a layer is, and Keras quantizes no model with unbuilt layers.
    """
    if isinstance(position, keras.layers.Layer) and not position.built:
        position.build((None, None, heads, key_dim))


def rotated(position, x, offset):
    """Return queries or keys (batch, length, heads, key_dim) with their positions."""
    rotate = getattr(position, "rotate", None)
    return x if rotate is None else rotate(x, offset)


def score_bias(position, query_length, key_length, offset):
    """Return what positions add to the scores, or `None`."""
    bias = getattr(position, "bias", None)
    return None if bias is None else bias(query_length, key_length, offset)
