"""The layers of an encoder of token ids, and how they are connected."""

from keras import ops

from keras_transformer.layers import TokenEmbedding
from keras_transformer.models.assembly import make_norm
from keras_transformer.models.embedder import Embedder
from keras_transformer.models.encoder_stack import EncoderStack


class EncoderParts:
    """All layers of an `Encoder`, made from its options.

    Args:
        options: the arguments of `Encoder`, by name.
        policy: dtype policy of all layers.
    """

    def __init__(self, options, policy):
        self.options = options
        self.pad_id = options["pad_id"]
        width, segments = options["hidden_dim"], options["num_segments"]
        self.embedding = TokenEmbedding(
            options["vocabulary_size"],
            width,
            scale=options["scale_embeddings"],
            dtype=policy,
            name="token_embedding",
        )
        self.segments = None
        if segments:
            self.segments = TokenEmbedding(
                segments, width, scale=False, dtype=policy, name="segment_embedding"
            )
        norm = None
        if options["normalize_embeddings"]:
            norm = make_norm("embedding_norm", options, policy)
        self.embedder = Embedder(
            self.embedding, "token", options, policy, segments=self.segments, norm=norm
        )
        self.stack = EncoderStack(options["num_layers"], options, policy)

    def padding_mask(self, token_ids):
        """Return the boolean mask (batch, length), True where ids are not padding."""
        return ops.not_equal(token_ids, self.pad_id)

    def encode(self, inputs):
        """Compute the hidden states from the inputs of `Encoder`."""
        token_ids, segment_ids = self.ids_of(inputs)
        x = self.embedder(token_ids, segment_ids=segment_ids)
        return self.stack(x, self.padding_mask(token_ids))

    def ids_of(self, inputs):
        """Return token ids, and segment ids or `None`, of the inputs."""
        if self.segments is None:
            return inputs, None
        return inputs["token_ids"], inputs["segment_ids"]
