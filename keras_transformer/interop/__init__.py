"""Models for other libraries."""

from keras_transformer.interop.ctranslate2_model import export_ctranslate2

__all__ = ["export_ctranslate2"]
