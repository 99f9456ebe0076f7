"""TensorFlow's messages and its C library, without its Python package.

`import tensorflow` brings Keras with it. A process that imports this module instead
has the message classes of `tensorflow.core` and `tensorflow_serving`, and the runtime
that a model server is made of.
"""

import ctypes
import importlib.util
import sys
import types
from pathlib import Path


def _folder(package):
    spec = importlib.util.find_spec(package)
    return Path(spec.submodule_search_locations[0])


FOLDER = _folder("tensorflow")
TEXT_OPERATIONS = (
    _folder("tensorflow_text") / "python" / "ops" / "_sentencepiece_tokenizer.so"
)


def use_bare_package():
    """Let `tensorflow.core` be imported without what `tensorflow` itself imports."""
    package = types.ModuleType("tensorflow")
    package.__path__ = [str(FOLDER)]
    sys.modules["tensorflow"] = package


def load_library():
    """Load the C library, and return its functions."""
    ctypes.CDLL(str(FOLDER / "libtensorflow_framework.so.2"), ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(FOLDER / "libtensorflow_cc.so.2"), ctypes.RTLD_GLOBAL)
