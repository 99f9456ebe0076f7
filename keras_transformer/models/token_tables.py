"""The tables of token vectors of an encoder-decoder model."""

from keras_transformer.layers import TokenEmbedding
from keras_transformer.models.assembly import tying_of


def token_tables(options, policy):
    """Make the tables of source, target and output, of which some may be one.

    Args:
        options: the arguments of a model, by name.
        policy: dtype policy of the tables.

    Returns:
        Three `TokenEmbedding`s.
    """
    sizes = options["vocabulary_size"], options["target_vocabulary_size"]
    tying = tying_of(options["tie_embeddings"], *sizes)

    def table(name, size):
        return TokenEmbedding(size, options["hidden_dim"], dtype=policy, name=name)

    if tying == "all":
        one = table("token_embedding", sizes[0])
        return one, one, one
    source = table("source_embedding", sizes[0])
    target = table("target_embedding", sizes[1])
    output = table("output_embedding", sizes[1]) if tying == "none" else target
    return source, target, output
