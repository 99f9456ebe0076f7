"""From token ids to the input of a stack of blocks."""

from keras import ops

from keras_transformer.layers.byte_dropout import ByteDropout
from keras_transformer.layers.initialization import seed_for
from keras_transformer.models.position_choice import input_position


class Embedder:
    """Embed ids, add positions, drop out.

    Args:
        embedding: the `TokenEmbedding`.
        side: what the names of the layers begin with, `"source"` for example.
        options: the arguments of the model, by name.
        policy: dtype policy of the layers.
        segments: a `TokenEmbedding` of segment ids, if the model has any.
        norm: a norm before the dropout, if the model has one.
    """

    def __init__(self, embedding, side, options, policy, *, segments=None, norm=None):
        self.embedding, self.segments, self.norm = embedding, segments, norm
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

    def __call__(self, ids, start_index=0, *, positions=None, segment_ids=None):
        """Embed ids.

        Args:
            ids: (batch, length).
            start_index: position of the first.
            positions: (batch, length), if the rows don't count from `start_index`.
            segment_ids: (batch, length), for a model with segments.

        Returns:
            (batch, length, hidden_dim).
        """
        x = self.embedding(ids)
        if self.segments is not None:
            x = x + self.segments(segment_ids)
        if self.position is not None:
            x = self.position(x, **_placed(start_index, positions))
        if self.max_length is not None:
            # Padding may lie past the last position, where vectors are NaN.
            x = ops.where(ops.not_equal(ids, self.pad_id)[..., None], x, 0.0)
        if self.norm is not None:
            x = self.norm(x)
        return self.dropout(x)


def _placed(start_index, positions):
    if positions is not None:
        return {"positions": positions}
    # A layer of the caller's that adds positions need not know of `start_index`,
    # unless the model decodes position by position.
    is_zero = isinstance(start_index, int) and start_index == 0
    return {} if is_zero else {"start_index": start_index}
