"""The whole Transformer in NumPy and float64."""

import numpy as np

from tests.attention.formulas import weight
from tests.layers.formulas import decoder_block, encoder_block, layer_norm


def sinusoids(length, width):
    position, column = np.arange(length)[:, None], np.arange(width)
    angle = position / 10000.0 ** (2 * (column // 2) / width)
    return np.where(column % 2, np.cos(angle), np.sin(angle))


def embed(table, ids):
    table = weight(table)
    width = table.shape[1]
    return table[ids] * np.sqrt(width) + sinusoids(ids.shape[1], width)


def transformer(model, source, target):
    """Logits from a model's weights; padding is 0, positions are sinusoids."""
    parts, real = model.parts, source != 0
    x = embed(parts.source_embedding.embeddings, source)
    for block in parts.encoder_blocks:
        x, _ = encoder_block(block, x, real[:, None, None])
    memory = last_norm(model, parts.encoder_norm, x)
    length = target.shape[1]
    mask = (target != 0)[:, None, None] & np.tril(np.ones((length, length), bool))
    y = embed(parts.target_embedding.embeddings, target)
    for block in parts.decoder_blocks:
        y, *_ = decoder_block(block, y, memory, mask, real[:, None, None])
    y = last_norm(model, parts.decoder_norm, y)
    return y @ weight(parts.output_embedding.embeddings).T


def last_norm(model, norm, x):
    return (
        x if norm is None else layer_norm(x, norm, model.options["layer_norm_epsilon"])
    )
