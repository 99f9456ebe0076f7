"""Smoothed cross-entropy of each token, with its own gradient."""

from keras import ops

from keras_transformer.training.reused_array import add_in_rows, after


def real_tokens(labels, pad_id):
    """Boolean mask (batch, length), True where a label is not padding."""
    return ops.not_equal(labels, pad_id)


def check_token_shapes(labels, logits):
    """Raise `ValueError` unless logits have one axis more than labels."""
    if len(logits.shape) != len(labels.shape) + 1:
        raise ValueError(
            "Labels must have shape (batch, length) and logits (batch, length, "
            f"vocabulary). Received: {tuple(labels.shape)} and {tuple(logits.shape)}."
        )


def known_labels(labels, vocabulary):
    """Labels as indices of the vocabulary, 0 for those outside, and which are inside.

    Args:
        labels: integer (batch, length).
        vocabulary: number of ids.

    Returns:
        int32 (batch, length, 1), and boolean (batch, length).
    """
    labels = ops.cast(labels, "int32")
    known = ops.logical_and(labels >= 0, labels < vocabulary)
    return ops.where(known, labels, 0)[..., None], known


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
    real = real_tokens(labels, pad_id)
    rows, known = known_labels(labels, logits.shape[-1])
    count = ops.where(known, 1.0, float("nan"))
    off = label_smoothing / logits.shape[-1]
    on = 1.0 - label_smoothing

    @ops.custom_gradient
    def losses_of(logits):
        scores = ops.cast(logits, "float32")
        label_scores = ops.take_along_axis(scores, rows, axis=-1)
        largest = ops.max(scores, axis=-1, keepdims=True)
        reads = [label_scores, largest]
        if label_smoothing:
            reads.append(ops.mean(scores, axis=-1, keepdims=True))
        probabilities = ops.softmax(after(reads, scores), axis=-1)
        # log sum_k exp(score_k), found where the probability is 1 / V or more
        total = largest - ops.log(ops.max(probabilities, axis=-1, keepdims=True))
        losses = total - on * label_scores
        if label_smoothing:
            losses = losses - label_smoothing * reads[-1]
        losses = ops.where(real, losses[..., 0] * count, 0.0)

        def gradient(*args, upstream=None):
            # upstream * (p - q)
            (upstream,) = args if upstream is None else (upstream,)
            weight = ops.where(real, upstream * count, 0.0)[..., None]
            gradient = after([total], probabilities)
            gradient = gradient - off if label_smoothing else gradient
            # a division, since x / 0 is 0 there at padding, NaN or not
            gradient = ops.divide_no_nan(gradient, ops.divide_no_nan(1.0, weight))
            gradient = add_in_rows(gradient, rows, -on * weight)
            return ops.cast(gradient, logits.dtype)

        return losses, gradient

    return losses_of(logits)
