"""What every head of every block attends to."""

import keras
from keras import ops

from keras_transformer.models.transformer import check_transformer


class AttentionScorer(keras.Model):
    """Run a model for its attention scores.

    Args:
        model: a `Transformer`.

    Raises:
        TypeError: for another model.
    """

    # Not a functional model: Keras does not build one of a layer whose first call gave
    # another number of outputs, as those of the blocks did.

    def __init__(self, model, **kwargs):
        check_transformer(model)
        super().__init__(**kwargs)
        self.model = model

    def call(self, inputs):
        """Compute the scores.

        Args:
            inputs: `{"source_ids": (batch, source), "target_ids": (batch, target)}`,
                int32, padded.

        Returns:
            `{"encoder": (batch, layers, heads, source, source), "decoder": (batch,
            layers, heads, target, target), "cross": (batch, layers, heads, target,
            source)}`, float32. The rows of real positions sum to one; those of padding
            are zero.
        """
        parts, encoder, decoder = self.model.parts, [], []
        source_ids, target_ids = inputs["source_ids"], inputs["target_ids"]
        memory = parts.encode(source_ids, encoder)
        parts.decode(target_ids, memory, source_ids, decoder)
        own, cross = zip(*decoder, strict=True)
        source, target = parts.padding_mask(source_ids), parts.padding_mask(target_ids)
        return {
            "encoder": _stack([scores for (scores,) in encoder], source),
            "decoder": _stack(own, target),
            "cross": _stack(cross, target),
        }


def _stack(scores, real):
    """Stack the scores of blocks, with zeros for the queries of padding."""
    scores = ops.cast(ops.stack(scores, axis=1), "float32")
    return ops.where(real[:, None, None, :, None], scores, 0.0)
