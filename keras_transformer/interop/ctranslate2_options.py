"""Which options of a model CTranslate2 has something for."""

import keras

from keras_transformer.layers import LearnedPositionalEncoding, PositionalEncoding
from keras_transformer.models.transformer import check_transformer

# Keras's activations, and the names of the same ones in CTranslate2's specifications.
ACTIVATIONS = {
    "relu": "RELU",
    "gelu": "GELU",
    "silu": "SWISH",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
}
# Options of blocks, and the values for which it has something: blockwise attention has
# the result of dot-product attention.
PLAIN = {
    "attention": ("dot_product", "blockwise"),
    "window": (None,),
    "query_key_norm": (False,),
}
POSITIONS = (PositionalEncoding, LearnedPositionalEncoding)


def check_options(model):
    """Refuse a model that CTranslate2 cannot express.

    Args:
        model: what should be a `Transformer`.

    Raises:
        TypeError: for another model.
        ValueError: for an option without counterpart, with its name and value.
    """
    check_transformer(model)
    activation_of(model.options["activation"])
    parts = model.parts
    blocks = [*parts.encoder_blocks, *parts.decoder_blocks]
    added = [side.position for side in (parts.source, parts.target)]
    # Of a subclass nobody knows what it adds.
    strange = [layer for layer in added if layer and type(layer) not in POSITIONS]
    if strange or any(block.position is not None for block in blocks):
        raise ValueError(
            '`position` must be "sinusoidal", "learned", None or one of their layers '
            f"for CTranslate2. Received: {model.options['position']!r}."
        )
    if (layer := model.options.get("feed_forward")) is not None:
        raise ValueError(
            f"`feed_forward` must be None for CTranslate2. Received: {layer!r}."
        )
    for block in blocks:
        for name, values in PLAIN.items():
            if (received := getattr(block, name)) not in values:
                allowed = " or ".join(map(repr, values))
                raise ValueError(
                    f"`{name}` must be {allowed} for CTranslate2. "
                    f"Received: {received!r}."
                )
    integers = [w.path for w in model.weights if "int" in w.dtype]
    if weights := [path for path in integers if "seed" not in path]:
        raise ValueError(
            "`model` must have weights of floating point; give `quantization` to the "
            f"export. Received: integers in {weights[0]}."
        )


def activation_of(activation):
    """Return CTranslate2's name of an activation of Keras.

    Args:
        activation: a name or function, as an option of `Transformer`.

    Raises:
        ValueError: if there is none.
    """
    try:
        function = keras.activations.get(activation)
    except ValueError:  # a name of our own layers
        function = None
    for name, theirs in ACTIVATIONS.items():
        if function is keras.activations.get(name):
            return theirs
    raise ValueError(
        f"`activation` must be one of {', '.join(map(repr, ACTIVATIONS))} for "
        f"CTranslate2. Received: {activation!r}."
    )
