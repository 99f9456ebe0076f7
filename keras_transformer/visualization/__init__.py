"""Attention maps: as plain data, pictures and a page."""

from keras_transformer.visualization.attention_data import attention_data
from keras_transformer.visualization.attention_html import attention_html
from keras_transformer.visualization.attention_maps import AttentionMaps
from keras_transformer.visualization.plot_architecture import plot_architecture
from keras_transformer.visualization.plot_attention import plot_attention
from keras_transformer.visualization.plot_training import plot_training

__all__ = [
    "AttentionMaps",
    "attention_data",
    "attention_html",
    "plot_architecture",
    "plot_attention",
    "plot_training",
]
