"""Values of Keras variables as NumPy arrays."""

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
