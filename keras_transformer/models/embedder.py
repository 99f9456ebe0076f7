"""From token ids to the input of a stack of blocks."""

from keras import ops

from keras_transformer.layers.byte_dropout import ByteDropout
from keras_transformer.layers.initialization import seed_for
from keras_transformer.models.assembly import input_position


class Embedder:
    """Embed ids, add positions, drop out.

    Args:
        embedding: the `TokenEmbedding`.
        side: `"source"` or `"target"`, for the layers' names.
        options: the arguments of `Transformer`, by name.
        policy: dtype policy of the layers.
    """

    def __init__(self, embedding, side, options, policy):
        self.embedding = embedding
        self.pad_id = options["pad_id"]
        self.position = input_position(
            options["position"], options["max_length"], f"{side}_position", policy
        )
        self.dropout = ByteDropout(
            options["dropout"],
            seed=seed_for(options["seed"], side),
            dtype=policy,
            name=f"{side}_dropout",
        )

    @property
    def max_length(self):
        """Number of positions, `None` without a limit."""
        return getattr(self.position, "max_length", None)

    def __call__(self, ids, start_index=0):
        """Embed ids (batch, length) from position `start_index` on."""
        x = self.embedding(ids)
        if self.position is not None:
            start = {} if _is_zero(start_index) else {"start_index": start_index}
            x = self.position(x, **start)
        if self.max_length is not None:
            # Padding may lie past the last position, where vectors are NaN.
            x = ops.where(ops.not_equal(ids, self.pad_id)[..., None], x, 0.0)
        return self.dropout(x)


def _is_zero(index):
    # A layer of the caller's that adds positions need not know of `start_index`,
    # unless the model decodes position by position.
    return isinstance(index, int) and index == 0
