"""Boolean attention masks: True means "may attend"."""

from keras import ops


def as_boolean_mask(mask, name):
    """Return `mask` as a boolean tensor.

    Args:
        mask: boolean or integer (0 or 1) tensor or array, or `None`.
        name: the argument's name, for the error.

    Returns:
        A boolean tensor of the same shape, or `None`.

    Raises:
        ValueError: for a floating-point mask. An additive mask (0 and -1e9) would
            be read with its meaning turned round, so it is refused.
    """
    if mask is None:
        return None
    mask = ops.convert_to_tensor(mask) if not hasattr(mask, "dtype") else mask
    dtype = str(mask.dtype)
    if "float" in dtype:
        raise ValueError(
            f"`{name}` must be boolean (True = may attend), not an additive float "
            f"mask. Received: dtype {dtype}, shape {tuple(mask.shape)}."
        )
    return ops.cast(mask, "bool")


def as_padding_mask(mask, name="padding_mask"):
    """Check a (batch, length) padding mask, True at real positions."""
    mask = as_boolean_mask(mask, name)
    if mask is not None and len(mask.shape) != 2:
        raise ValueError(
            f"`{name}` must have shape (batch, length). "
            f"Received: shape {tuple(mask.shape)}."
        )
    return mask


def as_attention_mask(mask, name="attention_mask"):
    """Check an attention mask and give it a heads axis.

    Args:
        mask: boolean (batch, query, key) or (batch, heads, query, key), or `None`;
            any axis may be 1.
        name: the argument's name, for the error.

    Returns:
        A boolean tensor (batch, heads or 1, query, key), or `None`.

    Raises:
        ValueError: for other ranks. Two axes could be (batch, key) or (query, key);
            that is not guessed.
    """
    mask = as_boolean_mask(mask, name)
    if mask is None:
        return None
    if len(mask.shape) == 3:
        return ops.expand_dims(mask, 1)  # (batch, 1, query, key)
    if len(mask.shape) == 4:
        return mask
    raise ValueError(
        f"`{name}` must have shape (batch, query, key) or (batch, heads, query, key); "
        "a (batch, length) mask of padding goes into `padding_mask`. "
        f"Received: shape {tuple(mask.shape)}."
    )


def real_positions(padding_mask, mask, prefix=""):
    """Combine an explicit padding mask with a Keras mask, both (batch, length).

    Args:
        padding_mask: the explicit one, or `None`.
        mask: the one that Keras passes along, or `None`.
        prefix: what the arguments' names begin with, for errors.
    """
    return combine_masks(
        as_padding_mask(padding_mask, f"{prefix}padding_mask"),
        as_padding_mask(mask, f"{prefix}mask"),
    )


def key_mask(padding_mask, name="padding_mask"):
    """Turn (batch, length) padding into a (batch, 1, 1, length) mask of keys."""
    mask = as_padding_mask(padding_mask, name)
    return None if mask is None else mask[:, None, None, :]


# What the layers that attend are given by name, but the query's.
MASKS = ("value_mask", "key_mask", "attention_mask")


def attention_masks(value_mask, key_mask_, attention_mask):
    """Check and combine the masks that an attention layer takes, but the query's.

    Args:
        value_mask: boolean (batch, key), True at real positions.
        key_mask_: boolean (batch, key), True at real positions.
        attention_mask: as for `as_attention_mask`.

    Returns:
        A boolean tensor (batch, heads or 1, query or 1, key), or `None`.
    """
    return combine_masks(
        key_mask(value_mask, "value_mask"),
        key_mask(key_mask_, "key_mask"),
        as_attention_mask(attention_mask),
    )


def causal_mask(query_length, key_length, offset=0):
    """Let each query position see itself and the keys before it.

    Args:
        query_length: number of queries, an integer or scalar tensor.
        key_length: number of keys, an integer or scalar tensor.
        offset: key position of the first query, an integer or scalar tensor.

    Returns:
        A boolean tensor (1, 1, query_length, key_length), True where
        `key <= query + offset`.
    """
    query = ops.arange(query_length, dtype="int32") + offset
    key = ops.arange(key_length, dtype="int32")
    return (key[None, :] <= query[:, None])[None, None]


def window_mask(query_length, key_length, window, offset=0):
    """Let each query position see the keys nearer than `window`.

    Args:
        query_length: number of queries, an integer or scalar tensor.
        key_length: number of keys, an integer or scalar tensor.
        window: the first distance that is too far, an integer of at least 1.
        offset: key position of the first query, an integer or scalar tensor.

    Returns:
        A boolean tensor (1, 1, query_length, key_length), True where
        `|query + offset - key| < window`.
    """
    query = ops.arange(query_length, dtype="int32") + offset
    key = ops.arange(key_length, dtype="int32")
    return (ops.abs(query[:, None] - key[None, :]) < window)[None, None]


def row_mask(query_length, key_length, offset=0, causal=False, window=None):
    """Combine what rows may see by their distance, `None` if they see all."""
    lengths = query_length, key_length
    return combine_masks(
        causal_mask(*lengths, offset) if causal else None,
        None if window is None else window_mask(*lengths, window, offset),
    )


def as_attention_bias(bias, name="attention_bias"):
    """Check a bias of the scores and give it a heads axis.

    Args:
        bias: floating point (batch, query, key) or (batch, heads, query, key), or
            `None`; any axis may be 1.
        name: the argument's name, for the error.

    Returns:
        A tensor (batch, heads or 1, query, key), or `None`.

    Raises:
        ValueError: for other ranks and dtypes. A mask is no bias.
    """
    if bias is None:
        return None
    bias = ops.convert_to_tensor(bias) if not hasattr(bias, "dtype") else bias
    if "float" not in str(bias.dtype) or len(bias.shape) not in (3, 4):
        raise ValueError(
            f"`{name}` must be floating point of shape (batch, query, key) or (batch, "
            f"heads, query, key). Received: {bias.dtype} of shape {tuple(bias.shape)}."
        )
    return ops.expand_dims(bias, 1) if len(bias.shape) == 3 else bias


def combine_masks(*masks):
    """Apply all masks together; `None` stands for "everything allowed"."""
    combined = None
    for mask in masks:
        if mask is not None:
            combined = mask if combined is None else ops.logical_and(combined, mask)
    return combined


def as_four_axes(x):
    """Give what broadcasts to (batch, heads, query, key) its leading axes of 1."""
    x = ops.convert_to_tensor(x)
    return ops.reshape(x, (1,) * (4 - len(x.shape)) + tuple(ops.shape(x)))
