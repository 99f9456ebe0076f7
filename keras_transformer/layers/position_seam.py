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
        "`bias(query_length, key_length, offset)`, RotaryEmbedding() for example; "
        f"names are for models. Received: {position!r}."
    )


def position_config(position):
    """Serialize a position layer, `None` if there is none.

    Several layers may have it together. Keras marks an object of a saved model as
    shared only from the second time on that it is serialized, and a loaded model would
    have two where one was.
    """
    keras.saving.serialize_keras_object(position)
    return keras.saving.serialize_keras_object(position)


def build_position(position, heads, key_dim):
    """Build a position layer, for queries (batch, length, heads, key_dim).

    It is not called as a layer is, and Keras quantizes no model with unbuilt layers.
    """
    if not isinstance(position, keras.layers.Layer):
        return
    if not position.built:
        position.build((None, None, heads, key_dim))
    elif (known := getattr(position, "num_heads", heads)) != heads:
        raise ValueError(
            f"`position` is built for {known} heads already, and a layer must be "
            f"given to attention of as many. Received: num_heads={heads}."
        )


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


def position_bias(position, query_length, key_length, offset=0, positions=None):
    """Return what positions add to the scores, as a tensor or as a function.

    Args:
        position: the layer, or `None`.
        query_length: number of queries.
        key_length: number of keys.
        offset: position of the first query.
        positions: explicit ones (batch, length), or `None`.

    Returns:
        The `bias` and the `bias_at` of an attention function, of which one at least is
        `None`. It is a function where the layer says what it adds by distance.
    """
    if not hasattr(position, "bias"):
        return None, None
    if positions is not None:
        return _method(position, "bias_between")(positions, positions), None
    if hasattr(position, "of_distances"):
        return None, position.bias
    return position.bias(query_length, key_length, offset), None


def as_positions(positions, *shapes):
    """Check explicit positions: integers (batch, length), or `None`.

    Args:
        positions: the positions. A batch of 1 stands for all rows of a batch.
        *shapes: shapes (batch, length, ...) of what they are the positions of.

    Raises:
        ValueError: for another rank or floating point, or another length or batch.
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
    for shape in shapes:
        if not _fit(positions.shape, shape[:2]):
            raise ValueError(
                "`positions` must have the batch and length of its sequences, "
                f"{tuple(shape[:2])}. Received: shape {tuple(positions.shape)}."
            )
    return positions


def _fit(positions, rows):
    (batch, length), (number, wanted) = positions, rows
    return (None in (batch, number) or batch in (1, number)) and (
        None in (length, wanted) or length == wanted
    )


def _method(position, name):
    method = getattr(position, name, None)
    if method is None:
        raise ValueError(
            f"`positions` needs a `position` with `{name}`. Received: {position!r}."
        )
    return method
