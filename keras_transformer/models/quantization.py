"""Quantization by Keras, and what a saved model remembers of it."""

import re
import warnings
from contextlib import contextmanager

import keras


def quantization_of(mode, config, filters):
    """Check the arguments of `quantize`, and describe them for a model's config.

    Args:
        mode: mode of the quantization, or `None` if `config` has it.
        config: a `keras.quantizers.QuantizationConfig`, or `None`.
        filters: a regular expression of names of layers, a list of them, or `None`.

    Returns:
        A dictionary of plain values.

    Raises:
        ValueError: for another mode than `"int8"`, or what is no regular expression.
        TypeError: for a function as filter, which could not be saved.
    """
    asked = getattr(config, "mode", config) if mode is None else mode
    if asked != "int8":
        raise ValueError(f'`mode` must be "int8". Received: {asked!r}.')
    patterns = filters if isinstance(filters, list | tuple) else [filters or ""]
    if not all(isinstance(pattern, str) for pattern in patterns):
        raise TypeError(
            "`filters` must be a regular expression of names of layers, or a list of "
            f"them, to be saved with the model. Received: {filters!r}."
        )
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(
                "`filters` must be regular expressions. "
                f"Received: {pattern!r}, {error}."
            ) from error
    config = keras.saving.serialize_keras_object(config)
    return {"mode": asked, "config": config, "filters": filters}


def int8_count(model):
    """Return the number of weights of 8 bits."""
    return sum(weight.dtype == "int8" for weight in model.weights)


def quantize_again(model, quantizations):
    """Bring a new model to the form in which another one has been saved.

    Args:
        model: the model, with weights of floating point.
        quantizations: a list of what `quantization_of` returned.

    Returns:
        The model, ready to load integer weights.
    """
    for quantization in quantizations:
        config = keras.saving.deserialize_keras_object(quantization["config"])
        model.quantize(**{**quantization, "config": config})
    return model


@contextmanager
def layers_without_quantization():
    """Leave out Keras's warning of each layer that has nothing to quantize."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Layer .* does not have a `quantize`")
        yield
