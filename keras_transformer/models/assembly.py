"""How a model's options turn into its parts."""

import keras

from keras_transformer.argument_checks import check_choice, check_positive_integer
from keras_transformer.layers import (
    AlibiBias,
    LearnedPositionalEncoding,
    PositionalEncoding,
    RelativePositionBias,
    RotaryEmbedding,
)

TYING = ("all", "decoder", "none")
POSITIONS = {
    "sinusoidal": PositionalEncoding,
    "learned": LearnedPositionalEncoding,
    "rotary": RotaryEmbedding,
    "alibi": AlibiBias,
    "relative": RelativePositionBias,
}
# What the blocks of a model can be told, besides what a model has a word for.
BLOCK_OPTIONS = ("attention", "window", "query_key_norm")


def check_block_options(options):
    """Check the names of options that a model only hands on to its blocks.

    Raises:
        TypeError: for another name.
    """
    for name in options:
        if name not in BLOCK_OPTIONS:
            known = ", ".join(f"`{option}`" for option in BLOCK_OPTIONS)
            raise TypeError(f"No such option: `{name}`. Blocks know {known}.")
    return options


def tying_of(tie_embeddings, vocabulary_size, target_vocabulary_size):
    """Resolve and check `tie_embeddings` for two vocabulary sizes."""
    same = vocabulary_size == target_vocabulary_size
    if tie_embeddings is None:
        return "all" if same else "decoder"
    check_choice("tie_embeddings", tie_embeddings, TYING)
    if tie_embeddings == "all" and not same:
        raise ValueError(
            '`tie_embeddings="all"` needs one vocabulary for both sides. Received: '
            f"vocabulary_size={vocabulary_size}, "
            f"target_vocabulary_size={target_vocabulary_size}."
        )
    return tie_embeddings


def layer_counts(num_layers):
    """Numbers of encoder and decoder blocks from one number or a pair."""
    pair = num_layers if isinstance(num_layers, (tuple, list)) else [num_layers] * 2
    if len(pair) != 2:
        raise ValueError(
            "`num_layers` must be a number or a pair (encoder, decoder). "
            f"Received: {num_layers!r}."
        )
    return [check_positive_integer("num_layers", number) for number in pair]


def check_special_ids(options):
    """Check that padding, end and start are different ids of both vocabularies."""
    check_positive_integer("target_vocabulary_size", options["target_vocabulary_size"])
    smallest = min(options["vocabulary_size"], options["target_vocabulary_size"])
    ids = {name: options[name] for name in ("pad_id", "end_id", "start_id")}
    for name, value in ids.items():
        if not isinstance(value, int) or not 0 <= value < smallest:
            raise ValueError(
                f"`{name}` must be an integer from 0 to {smallest - 1}, the last id of "
                f"the smallest vocabulary. Received: {value!r}."
            )
    if len(set(ids.values())) < len(ids):
        raise ValueError(f"Special ids must differ. Received: {ids}.")


def input_position(position, max_length, name, policy):
    """Make the layer that adds positions to a side's embeddings, or `None`."""
    if (position == "learned") != (max_length is not None):
        raise ValueError(
            '`max_length` goes with `position="learned"`, and only with it. '
            f"Received: position={position!r}, max_length={max_length!r}."
        )
    layer = _as_layer(position, policy, max_length)
    if layer is None or _works_in_attention(layer):
        return None
    copy = _copy(layer)
    copy.name = name
    return copy


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
    layer = _as_layer(options["position"], policy, options["max_length"])
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
