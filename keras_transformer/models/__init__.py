"""Models assembled from the layers."""

from keras_transformer.models.sizes import (
    transformer_base,
    transformer_big,
    transformer_tiny,
)
from keras_transformer.models.transformer import Transformer

__all__ = ["Transformer", "transformer_base", "transformer_big", "transformer_tiny"]
