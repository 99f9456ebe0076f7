"""Export for serving, and the translator's own file."""

from keras_transformer.export.saved_model import export_saved_model
from keras_transformer.export.translator_file import read_translator, write_translator

__all__ = ["export_saved_model", "read_translator", "write_translator"]
