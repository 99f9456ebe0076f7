"""What a layer must offer to put positions into attention."""

import keras
from keras import ops


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


def rotated(position, x, offset, positions=None):
    """Return queries or keys (batch, length, heads, key_dim) with their positions."""
    if not hasattr(position, "rotate"):
        return x
    if positions is None:
        return position.rotate(x, offset)
    return _method(position, "rotate_at")(x, positions)


def score_bias(position, query_length, key_length, offset):
    """Return what positions add to the scores, or `None`."""
    bias = getattr(position, "bias", None)
    return None if bias is None else bias(query_length, key_length, offset)


def bias_between(position, positions):
    """Return what explicit positions add to the scores, or `None`."""
    if positions is None or not hasattr(position, "bias"):
        return None
    return _method(position, "bias_between")(positions, positions)


def as_positions(positions):
    """Check explicit positions: integers (batch, length), or `None`.

    Raises:
        ValueError: for another rank or floating point.
    """
    if positions is None:
        return None
    if not hasattr(positions, "dtype"):
        positions = ops.convert_to_tensor(positions)
    dtype = keras.backend.standardize_dtype(positions.dtype)
    if len(positions.shape) != 2 or "int" not in dtype:
        raise ValueError(
            "`positions` must be integers of shape (batch, length). "
            f"Received: {dtype} of shape {tuple(positions.shape)}."
        )
    return positions


def _method(position, name):
    method = getattr(position, name, None)
    if method is None:
        raise ValueError(
            f"`positions` needs a `position` with `{name}`. Received: {position!r}."
        )
    return method
