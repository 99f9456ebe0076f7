"""Layers and blocks in NumPy and float64, written from the paper."""

import numpy as np

from tests.attention.formulas import multi_head_attention, weight


def layer_norm(x, norm, epsilon):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    scaled = (x - mean) / np.sqrt(variance + epsilon)
    return scaled * weight(norm.gamma) + weight(norm.beta)


def rms_norm(x, norm, epsilon):
    mean_square = np.mean(x**2, axis=-1, keepdims=True)
    return x / np.sqrt(mean_square + epsilon) * weight(norm.scale)


def relu(x):
    return np.maximum(x, 0.0)


def feed_forward(layer, x, activation=relu):
    inner = x @ weight(layer.intermediate.kernel)
    if layer.use_bias:
        inner = inner + weight(layer.intermediate.bias)
    outer = activation(inner) @ weight(layer.output_dense.kernel)
    return outer + weight(layer.output_dense.bias) if layer.use_bias else outer


def around(block, residual, x, sublayer):
    """A sublayer with its residual, in the block's norm order."""
    norm = layer_norm if block.normalization == "layer" else rms_norm
    if block.normalize_first:
        return x + sublayer(norm(x, residual.norm, block.layer_norm_epsilon))
    return norm(x + sublayer(x), residual.norm, block.layer_norm_epsilon)


def encoder_block(block, x, mask):
    """Output and scores; `mask` is (batch, heads or 1, query, key)."""
    scores = []

    def attend(y):
        output, found = multi_head_attention(block.self_attention, y, y, mask=mask)
        scores.append(found)
        return output

    x = around(block, block.self_attention_residual, x, attend)
    return feed_forward_path(block, x), *scores


def decoder_block(block, x, memory, mask, memory_mask):
    """Output, self- and cross-attention scores."""
    scores = []

    def attend(y):
        output, found = multi_head_attention(block.self_attention, y, y, mask=mask)
        scores.append(found)
        return output

    def attend_across(y):
        output, found = multi_head_attention(
            block.cross_attention, y, memory, mask=memory_mask
        )
        scores.append(found)
        return output

    x = around(block, block.self_attention_residual, x, attend)
    if memory is not None:
        x = around(block, block.cross_attention_residual, x, attend_across)
    return feed_forward_path(block, x), *scores


def feed_forward_path(block, x):
    return around(
        block, block.feed_forward_residual, x,
        lambda y: feed_forward(block.feed_forward, y),
    )  # fmt: skip
