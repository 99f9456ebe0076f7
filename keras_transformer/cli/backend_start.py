"""The start of Keras's backend, without its chatter."""

import importlib
import os
import sys
import tempfile
from contextlib import contextmanager, suppress

LOG_LEVEL = "TF_CPP_MIN_LOG_LEVEL"


def start_backend():
    """Import Keras, and let its backend look for devices.

    TensorFlow writes lines of its own meanwhile, before it reads what it should leave
    out. They are hidden, unless TF_CPP_MIN_LOG_LEVEL is set or the import fails.
    """
    if LOG_LEVEL in os.environ:
        _import_and_compute()
        return
    os.environ[LOG_LEVEL] = "3"
    with _hidden_standard_error():
        _import_and_compute()


def _import_and_compute():
    keras = importlib.import_module("keras")
    keras.ops.convert_to_numpy(keras.ops.zeros((1,)))


@contextmanager
def _hidden_standard_error():
    """Keep what is written to file 2, and write it after all if there is an error."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as hidden:
        shown = os.dup(2)
        os.dup2(hidden.fileno(), 2)
        try:
            yield
        except BaseException:
            hidden.seek(0)
            with suppress(OSError):
                os.write(shown, hidden.read())
            raise
        finally:
            os.dup2(shown, 2)
            os.close(shown)
