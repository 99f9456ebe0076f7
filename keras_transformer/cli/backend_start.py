"""The start of Keras's backend, without its chatter."""

import importlib
import os
import sys
from contextlib import contextmanager

LOG_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
ONEDNN = "TF_ENABLE_ONEDNN_OPTS"


def start_backend(*, to_train=False):
    """Import Keras, and let its backend look for devices.

    Args:
        to_train: whether to use oneDNN where TensorFlow would not: a training step is
            faster with it even on processors without instructions for neural networks.
            What the environment says stays.
    """
    with without_chatter():
        os.environ.setdefault(LOG_LEVEL, "3")
        if to_train:
            os.environ.setdefault(ONEDNN, "1")
        keras = importlib.import_module("keras")
        keras.ops.convert_to_numpy(keras.ops.zeros((1,)))


@contextmanager
def without_chatter():
    """Hide what libraries in C++ write to standard error.

    TensorFlow does so before it reads what it should leave out. Errors of Python pass;
    nothing is hidden from people who have set TF_CPP_MIN_LOG_LEVEL.
    """
    if os.environ.get(LOG_LEVEL, "3") != "3":
        yield
        return
    sys.stderr.flush()
    shown, hidden = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(hidden, 2)
    try:
        yield
    finally:
        os.dup2(shown, 2)
        os.close(shown)
        os.close(hidden)
