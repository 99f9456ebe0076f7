"""The losses and metrics in NumPy and float64, token by token."""

import numpy as np


def token_losses(labels, logits, smoothing=0.0, pad_id=0):
    """Cross-entropy (batch, length) with the smoothed target written out."""
    losses = np.zeros(labels.shape)
    vocabulary = logits.shape[-1]
    for place in np.ndindex(*labels.shape):
        if labels[place] == pad_id:
            continue
        scores = logits[place].astype("float64")
        highest = scores.max()
        logs = scores - highest - np.log(np.exp(scores - highest).sum())
        target = np.full(vocabulary, smoothing / vocabulary)
        target[labels[place]] += 1 - smoothing
        losses[place] = -(target * logs).sum()
    return losses


def mean_loss(labels, logits, smoothing=0.0, pad_id=0, weight=1.0):
    total = (token_losses(labels, logits, smoothing, pad_id) * weight).sum()
    return total / max((labels != pad_id).sum(), 1)
