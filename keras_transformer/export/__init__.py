"""Export for serving, and the translator's own file."""

from keras_transformer.export.export_check import check
from keras_transformer.export.export_report import ExportReport
from keras_transformer.export.other_runtimes import export_litert, export_onnx
from keras_transformer.export.saved_model import export_saved_model
from keras_transformer.export.translator_file import read_translator, write_translator

__all__ = [
    "ExportReport",
    "check",
    "export_litert",
    "export_onnx",
    "export_saved_model",
    "read_translator",
    "write_translator",
]
