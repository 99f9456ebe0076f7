"""Activations by name, gated ones among them."""

import keras

# The activation of what gates, by the name of the gated network.
GATES = {
    "swiglu": keras.activations.silu,
    "geglu": keras.activations.gelu,
    "reglu": keras.activations.relu,
}


def as_activation(activation):
    """Check an `activation` argument.

    Args:
        activation: a name of `GATES`, or what `keras.activations.get` knows.

    Returns:
        The name if it is gated, else a function.

    Raises:
        ValueError: for anything else.
    """
    if isinstance(activation, str) and activation in GATES:
        return activation
    return keras.activations.get(activation)


def is_gated(activation):
    """Tell whether what `as_activation` returned needs a second map."""
    return isinstance(activation, str)


def gate_of(activation):
    """Return what `as_activation` returned as a function, of a gated one the gate's."""
    return GATES[activation] if is_gated(activation) else activation


def activate(activation, x):
    """Apply what `as_activation` returned, of a gated one the gate's function."""
    return gate_of(activation)(x)


def activation_config(activation):
    """Return the plain value of what `as_activation` returned, for a config."""
    if is_gated(activation):
        return activation
    return keras.activations.serialize(activation)
