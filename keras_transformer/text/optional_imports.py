"""Imports of packages that only some users need."""

import importlib
from types import ModuleType

PACKAGES = {
    "ctranslate2": "ctranslate2",
    "keras_hub": "keras-hub",
    "matplotlib": "matplotlib",
    "onnx": "onnx",
    "sentencepiece": "sentencepiece",
    "tensorflow": "tensorflow",
    "tensorflow_text": "tensorflow-text",
    "tf2onnx": "tf2onnx",
}


def require(module: str, user: str) -> ModuleType:
    """Imports a module at its first use.

    Args:
        module: A key of `PACKAGES`.
        user: What needs the module, for the error.

    Returns:
        The module.

    Raises:
        ImportError: The module is missing; the one line says how to install it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(missing(module, user)) from error


def missing(module: str, user: str) -> str:
    """Says in one line what is missing and how to install it."""
    return (
        f"`{user}` needs {PACKAGES[module]}, which cannot be imported. Install it "
        f"with: pip install {PACKAGES[module]}"
    )
