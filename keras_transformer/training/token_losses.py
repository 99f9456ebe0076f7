"""Smoothed cross-entropy of each token, with its own gradient."""

import keras
from keras import ops

from keras_transformer.training.reused_array import (
    add_in_rows,
    after,
    is_recorded,
    scaled_rows,
    tensor_of,
    writes_in_place,
)

NARROW = {"int8", "int16", "uint8", "uint16"}


def widened(labels):
    """Labels in a dtype that holds any `pad_id` and size of a vocabulary."""
    narrow = keras.backend.standardize_dtype(labels.dtype) in NARROW
    return ops.cast(labels, "int32") if narrow else labels


def real_tokens(labels, pad_id):
    """Boolean mask (batch, length), True where a label is not padding."""
    return ops.not_equal(widened(labels), pad_id)


def check_token_shapes(labels, logits):
    """Raise `ValueError` unless logits have one axis more than labels."""
    labels, logits = tuple(labels.shape), tuple(logits.shape)
    sizes = zip(labels, logits, strict=False)
    if len(logits) != len(labels) + 1 or any(
        None not in pair and len(set(pair)) > 1 for pair in sizes
    ):
        raise ValueError(
            "Labels must have shape (batch, length) and logits (batch, length, "
            f"vocabulary). Received: {labels} and {logits}."
        )


def token_weights(labels, sample_weight):
    """Weights as float32 that fit the labels.

    Args:
        labels: integer (batch, length).
        sample_weight: (batch,), (batch, 1) or (batch, length).

    Returns:
        The weights, with as many axes as the labels.

    Raises:
        ValueError: if the shapes do not fit.
    """
    weights = ops.cast(sample_weight, "float32")
    missing = len(labels.shape) - len(weights.shape)
    padded = (*weights.shape, *[1] * missing)
    sizes = zip(labels.shape, padded, strict=False)
    if missing < 0 or any(
        None not in pair and pair[1] not in (1, pair[0]) for pair in sizes
    ):
        raise ValueError(
            "`sample_weight` must have the leading axes of the labels, which have "
            f"shape {tuple(labels.shape)}. Received: {tuple(weights.shape)}."
        )
    for _ in range(missing):
        weights = weights[..., None]
    return weights


def known_labels(labels, vocabulary):
    """Labels as indices of the vocabulary, 0 for those outside, and which are inside.

    Args:
        labels: integer (batch, length).
        vocabulary: number of ids.

    Returns:
        int32 (batch, length, 1), and boolean (batch, length).
    """
    labels = widened(labels)
    known = ops.logical_and(labels >= 0, labels < ops.cast(vocabulary, labels.dtype))
    labels = ops.where(known, labels, ops.zeros_like(labels))
    return ops.cast(labels, "int32")[..., None], known


def token_losses(labels, logits, label_smoothing=0.0, pad_id=0):
    """Cross-entropy of labels and logits, smoothed over the whole vocabulary.

    The gradient is written out, `p - q`, for real tokens and zero for padding: it
    needs one array of the logits' size, and lets no NaN of padding through.

    Args:
        labels: integer (batch, length).
        logits: floating point (batch, length, vocabulary).
        label_smoothing: share of the probability spread over the vocabulary.
        pad_id: label of padding.

    Returns:
        float32 (batch, length), 0 at padding, NaN for a label that is neither padding
        nor in the vocabulary.

    Raises:
        ValueError: if the shapes of labels and logits do not fit.
    """
    check_token_shapes(labels, logits)
    on = 1.0 - label_smoothing

    # Labels are an argument too: JAX allows no tracer from outside.
    @ops.custom_gradient
    def losses_of(logits, labels):
        vocabulary = ops.shape(logits)[-1]
        off = label_smoothing / ops.cast(vocabulary, "float32")
        rows, known = known_labels(labels, vocabulary)
        real = real_tokens(labels, pad_id)
        count = ops.cast(ops.where(known, 1.0, float("nan")), "float32")

        scores = ops.cast(logits, "float32")
        label_scores = ops.take_along_axis(scores, rows, axis=-1)
        largest = ops.max(scores, axis=-1, keepdims=True, initial=float("-inf"))
        reads = [label_scores, largest]
        if label_smoothing:
            reads.append(ops.mean(scores, axis=-1, keepdims=True))
        probabilities = ops.softmax(after(reads, scores), axis=-1)
        # log sum_k exp(score_k - largest), found where the probability is 1 / V or more
        peak = ops.max(probabilities, axis=-1, keepdims=True, initial=0.0)
        losses = on * (largest - label_scores) - ops.log(peak)
        if label_smoothing:
            losses = losses + label_smoothing * (largest - reads[-1])
        losses = ops.where(real, losses[..., 0] * count, 0.0)
        in_place = writes_in_place()

        def gradient(*args, upstream=None):
            # upstream * (p - q)
            gradient = probabilities
            if upstream is None:
                (upstream,) = args
            elif is_recorded(args[0]):  # of PyTorch, to be differentiated once more
                gradient = ops.softmax(ops.cast(args[0], "float32"), axis=-1)
            weight = ops.where(real, upstream * count, 0.0)[..., None]
            gradient = after([peak], gradient)
            gradient = gradient - off if label_smoothing else gradient
            gradient = scaled_rows(gradient, weight, real[..., None])
            gradient = add_in_rows(gradient, rows, -on * weight, in_place)
            return ops.cast(gradient, logits.dtype), None

        return losses, gradient

    return losses_of(tensor_of(logits), labels)
