"""Attention maps."""

from keras_transformer.visualization.attention_maps import AttentionMaps

__all__ = ["AttentionMaps"]
