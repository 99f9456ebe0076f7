"""The command line, `keras-transformer`."""

from keras_transformer.cli.entry_point import main

__all__ = ["main"]
