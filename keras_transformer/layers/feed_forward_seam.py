"""What may stand in a block in the place of its feed-forward network."""

import inspect

import keras


def feed_forward_copy(feed_forward, seed, policy):
    """Copy a `feed_forward` argument for a block, without its weights.

    Args:
        feed_forward: a layer that maps (batch, length, width) to the same shape; or its
            serialized config; or `None`.
        seed: the copy's seed if it has one; `None` leaves the layer's own, which is
            then the same in all copies.
        policy: the copy's dtype policy.

    Returns:
        A new layer, named as a block's, or `None`.

    Raises:
        ValueError: for anything else.
    """
    if isinstance(feed_forward, dict):
        feed_forward = keras.saving.deserialize_keras_object(feed_forward)
    if feed_forward is None:
        return None
    # A model has no dtype policy that a copy of it could be given.
    if not isinstance(feed_forward, keras.layers.Layer) or isinstance(
        feed_forward, keras.Model
    ):
        raise ValueError(
            "`feed_forward` must be None or a layer, not a model. "
            f"Received: {feed_forward!r}."
        )
    config = {**feed_forward.get_config(), "name": "feed_forward", "dtype": policy}
    if seed is not None and "seed" in config:
        config["seed"] = seed
    return type(feed_forward).from_config(config)


def feed_forward_config(feed_forward):
    """Return the serialized config of a layer, from which an unbuilt one is made."""
    config = keras.saving.serialize_keras_object(feed_forward)
    if isinstance(config, dict):
        config.pop("build_config", None)
    return config


def takes_padding(feed_forward):
    """Tell whether a layer is to be told which positions are padding."""
    return "padding_mask" in inspect.signature(feed_forward.call).parameters
