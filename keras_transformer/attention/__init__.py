"""Attention as pure functions of tensors, and the masks that they take."""

from keras_transformer.attention.additive import additive_attention
from keras_transformer.attention.blockwise import blockwise_attention
from keras_transformer.attention.dot_product import (
    added_biases,
    attend_by_head,
    dot_product_attention,
)
from keras_transformer.attention.dropout import byte_dropout
from keras_transformer.attention.kernels import KERNELS
from keras_transformer.attention.linear import linear_attention, linear_attention_step
from keras_transformer.attention.masks import (
    as_attention_bias,
    as_attention_mask,
    as_boolean_mask,
    as_padding_mask,
    attention_masks,
    causal_mask,
    combine_masks,
    key_mask,
    real_positions,
    row_mask,
    window_mask,
)

__all__ = [
    "KERNELS",
    "added_biases",
    "additive_attention",
    "as_attention_bias",
    "as_attention_mask",
    "as_boolean_mask",
    "as_padding_mask",
    "attend_by_head",
    "attention_masks",
    "blockwise_attention",
    "byte_dropout",
    "causal_mask",
    "combine_masks",
    "dot_product_attention",
    "key_mask",
    "linear_attention",
    "linear_attention_step",
    "real_positions",
    "row_mask",
    "window_mask",
]
