"""The Transformer in sizes with a name."""

from keras_transformer.models.transformer import Transformer


def transformer_tiny(vocabulary_size, **options):
    """Make the size used for Multi30k: 4 + 4 layers of width 128.

    Args:
        vocabulary_size: number of token ids.
        **options: any other option of `Transformer`; they replace the size's own.

    Returns:
        A `Transformer`.

    Reference: Wu et al., 2021, "Good for Misconceived Reasons".
    """
    size = {
        "num_layers": 4,
        "hidden_dim": 128,
        "num_heads": 4,
        "intermediate_dim": 256,
        "dropout": 0.3,
    }
    return Transformer(vocabulary_size, **{**size, **options})


def transformer_base(vocabulary_size, **options):
    """Make the base size of the paper: 6 + 6 layers of width 512.

    Args:
        vocabulary_size: number of token ids, about 37,000 for the paper's 65M
            parameters.
        **options: any other option of `Transformer`; they replace the size's own.

    Returns:
        A `Transformer`.

    Reference: Vaswani et al., 2017, "Attention Is All You Need", table 3.
    """
    size = {
        "num_layers": 6,
        "hidden_dim": 512,
        "num_heads": 8,
        "intermediate_dim": 2048,
        "dropout": 0.1,
    }
    return Transformer(vocabulary_size, **{**size, **options})


def transformer_big(vocabulary_size, **options):
    """Make the big size of the paper: 6 + 6 layers of width 1024.

    Args:
        vocabulary_size: number of token ids, about 37,000 for the paper's 213M
            parameters.
        **options: any other option of `Transformer`; they replace the size's own.

    Returns:
        A `Transformer`.

    Reference: Vaswani et al., 2017, "Attention Is All You Need", table 3.
    """
    size = {
        "num_layers": 6,
        "hidden_dim": 1024,
        "num_heads": 16,
        "intermediate_dim": 4096,
        "dropout": 0.3,
    }
    return Transformer(vocabulary_size, **{**size, **options})
