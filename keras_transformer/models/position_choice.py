"""Which layers tell a model's positions."""

import keras

from keras_transformer.layers import (
    AlibiBias,
    LearnedPositionalEncoding,
    PositionalEncoding,
    RelativePositionBias,
    RotaryEmbedding,
)

POSITIONS = {
    "sinusoidal": PositionalEncoding,
    "learned": LearnedPositionalEncoding,
    "rotary": RotaryEmbedding,
    "alibi": AlibiBias,
    "relative": RelativePositionBias,
}


def learned_length(position, max_length, default):
    """Return the number of learned positions, `default` if it is not given."""
    if max_length is None and isinstance(position, str) and position == "learned":
        return default
    return max_length


def input_position(position, max_length, name, policy):
    """Make the layer that adds positions to a side's embeddings, or `None`."""
    if (position == "learned") != (max_length is not None):
        raise ValueError(
            '`position="learned"` needs `max_length`, and nothing else takes it. '
            f"Received: position={position!r}, max_length={max_length!r}."
        )
    layer = _as_layer(position, policy, max_length)
    if layer is None or _works_in_attention(layer):
        return None
    copy = _copy(layer)
    copy.name = name
    return copy


def check_grid_position(position, image_size):
    """Check the `position` of a model of images.

    Raises:
        ValueError: for another one than "learned", "sinusoidal", None or a layer that
            works in self-attention; for learned positions of images of any size.
    """
    if position == "learned" and image_size is None:
        raise ValueError(
            '`position="learned"` needs an `image_size`. Received: image_size=None.'
        )
    if position is None or (isinstance(position, str) and position in POSITIONS):
        return
    if not _works_in_attention(_as_layer(position, None, None)):
        raise ValueError(
            "`position` must be a name, None or a layer that works in self-attention. "
            f"Received: {position!r}."
        )


def block_positions(options, number, policy, *, causal=False):
    """Make the layers for the self-attention of a side's blocks.

    A layer with a true `shared` is one for all. One that can be `bidirectional` is not
    in a causal side.

    Args:
        options: the arguments of `Transformer`, by name.
        number: number of blocks.
        policy: dtype policy of layers made from a name.
        causal: whether the side is the decoder.

    Returns:
        A list of layers, or of `None`.
    """
    position = options["position"]
    if isinstance(position, str) and not _works_in_attention(POSITIONS.get(position)):
        return [None] * number  # added to the embeddings
    layer = _as_layer(position, policy, None)
    if not _works_in_attention(layer):
        return [None] * number
    if getattr(layer, "shared", False):
        return [_copy(layer, causal)] * number
    return [_copy(layer, causal) for _ in range(number)]


def _works_in_attention(layer):
    return hasattr(layer, "rotate") or hasattr(layer, "bias")


def _as_layer(position, policy, max_length):
    """Return the layer that a name, a config or itself stands for, or `None`."""
    if isinstance(position, str) and position in POSITIONS:
        length = {} if max_length is None else {"max_length": max_length}
        return POSITIONS[position](**length, dtype=policy, name="position")
    if isinstance(position, dict):
        position = keras.saving.deserialize_keras_object(position)
    if position is None or isinstance(position, keras.layers.Layer):
        return position
    names = ", ".join(f'"{name}"' for name in POSITIONS)
    raise ValueError(
        f"`position` must be {names}, None or a layer. Received: {position!r}."
    )


def _copy(layer, causal=False):
    config = layer.get_config()
    if causal and "bidirectional" in config:
        config["bidirectional"] = False
    try:
        return type(layer).from_config(config)
    except TypeError as error:  # Keras's, around that of the layer
        raise ValueError(
            "`position` must be a layer that can be made again from its config, for "
            f"the {'decoder' if causal else 'model'}. Received: {layer!r}: "
            f"{error.__context__ or error}"
        ) from error
