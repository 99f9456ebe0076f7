"""Values of tensors, where they can be known."""

import keras
import numpy as np
from keras import ops


def known_values(x):
    """Read a tensor outside compiled functions.

    Args:
        x: a tensor or a number.

    Returns:
        A NumPy array; `None` inside a compiled or symbolic function, and on a PyTorch
        accelerator, which would have to stop for it at each call.
    """
    on_accelerator = getattr(getattr(x, "device", None), "type", "cpu") != "cpu"
    if keras.backend.backend() == "torch" and on_accelerator:
        return None
    try:
        return np.asarray(ops.convert_to_numpy(x))
    except Exception:  # each backend has its own error for symbols
        return None
