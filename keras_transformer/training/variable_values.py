"""Values of Keras variables as NumPy arrays."""

import re

import numpy as np
from keras import ops


def values_of(variables):
    """Copy the values of variables to the host.

    Args:
        variables: a list of Keras variables.

    Returns:
        A list of arrays that share no memory with the variables. Numbers of which
        NumPy has no type of its own (bfloat16) are float32, with the same value.
    """
    arrays = [np.array(ops.convert_to_numpy(variable.value)) for variable in variables]
    return [
        array if array.dtype.kind in "biuf" else array.astype("float32")
        for array in arrays
    ]


def assign_values(variables, values):
    """Assign arrays to variables, one each."""
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)


def variables_of(model):
    """All variables of a model and of its optimizer."""
    if getattr(model, "optimizer", None) is None:
        raise ValueError("`model` must be compiled with an optimizer. Received: none.")
    if not model.trainable_variables:
        raise ValueError(
            "`model` must be built and have trainable weights. Received: a model "
            f"without any, built={model.built}."
        )
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)
    return {"model": model.variables, "optimizer": model.optimizer.variables}


def checked_values(group, variables, arrays, paths):
    """Return the saved values of variables, if they are the same variables."""
    saved = [
        (path, arrays[f"{group}.{place}"].shape) for place, path in enumerate(paths)
    ]
    now = [(variable.path, tuple(variable.shape)) for variable in variables]
    for one, other in zip(saved, now, strict=False):
        if (_unnumbered(one[0]), one[1]) != (_unnumbered(other[0]), other[1]):
            raise ValueError(
                f"The {group} must have the variables that were saved. "
                f"Received: {other[0]} of shape {other[1]} for {one[0]} of {one[1]}."
            )
    if len(saved) != len(now):
        raise ValueError(
            f"The {group} must have the {len(saved)} variables that were saved. "
            f"Received: {len(now)}."
        )
    return [arrays[f"{group}.{place}"] for place in range(len(saved))]


def _unnumbered(path):
    """A path without the numbers by which Keras tells objects of a name apart."""
    return re.sub(r"_\d+", "", path)
