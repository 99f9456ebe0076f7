"""Values of tensors, where they can be known."""

from contextlib import contextmanager
from contextvars import ContextVar

import keras
import numpy as np
from keras import ops

_promise: ContextVar[tuple] = ContextVar("promised_range", default=(None, None, None))


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


@contextmanager
def promised_range(index, lowest, highest):
    """Promise that an index, of which only a run knows the value, is in a range.

    It holds for this very tensor: a step that stands further on in its cache than the
    loop around it, because a prefix is there already, has an index of its own.

    Args:
        index: an integer scalar tensor.
        lowest: the smallest value, an integer.
        highest: the largest one.
    """
    token = _promise.set((index, lowest, highest))
    try:
        yield
    finally:
        _promise.reset(token)


def known_range(index):
    """Return the lowest and the highest value that an index can have.

    Args:
        index: an integer or scalar tensor.

    Returns:
        Two integers, or two times `None` if nothing is known.
    """
    known = known_values(index)
    if known is not None:
        return int(known), int(known)
    promised, lowest, highest = _promise.get()
    return (lowest, highest) if index is promised else (None, None)
