"""How a model's options turn into its parts."""

from functools import partial

import keras

from keras_transformer.argument_checks import (
    check_choice,
    check_positive_integer,
    check_positive_number,
    check_rate,
)
from keras_transformer.layers.feed_forward_seam import feed_forward_config
from keras_transformer.layers.gated_activation import activation_config, as_activation
from keras_transformer.layers.initialization import seed_for
from keras_transformer.layers.residual import NORMALIZATIONS
from keras_transformer.models.position_choice import block_positions

TYING = ("all", "decoder", "none")
# What the blocks of a model can be told, besides what a model has a word for.
BLOCK_OPTIONS = (
    "attention",
    "window",
    "query_key_norm",
    "intermediate_dropout",
    "stochastic_depth",
    "feed_forward",
)
# What blocks share with the model that they stand in.
SHARED_OPTIONS = (
    "num_heads", "intermediate_dim", "dropout", "attention_dropout", "activation",
    "normalize_first", "normalization", "layer_norm_epsilon", "use_bias",
    "num_key_value_heads",
)  # fmt: skip
CHECKS = {
    "vocabulary_size": check_positive_integer,
    "hidden_dim": check_positive_integer,
    "num_heads": check_positive_integer,
    "intermediate_dim": check_positive_integer,
    "dropout": check_rate,
    "attention_dropout": check_rate,
    "layer_norm_epsilon": check_positive_number,
    "normalization": partial(check_choice, choices=NORMALIZATIONS),
}


def checked_options(**options):
    """Check the sizes and rates among a model's options.

    Raises:
        ValueError: for sizes below 1 and rates outside [0, 1).
    """
    return {
        name: CHECKS[name](name, value) if name in CHECKS else value
        for name, value in options.items()
    }


def check_block_options(options):
    """Check the names of options that a model only hands on to its blocks.

    Raises:
        TypeError: for another name.
    """
    for name in options:
        if name not in BLOCK_OPTIONS:
            known = ", ".join(f"`{option}`" for option in BLOCK_OPTIONS)
            raise TypeError(
                f"The model has no option `{name}`, and hands on to its blocks only "
                f"{known}."
            )
    return options


def at_depth(options, number, count):
    """Adapt a stack's options to one of its blocks.

    The rate of stochastic depth grows linearly with the depth.

    Args:
        options: options of all blocks, by name.
        number: number of the block in its stack, from 1.
        count: number of blocks in the stack.
    """
    own = dict(options)
    if "stochastic_depth" in own:
        rate = check_rate("stochastic_depth", own["stochastic_depth"])
        own["stochastic_depth"] = rate * number / count
    if own.get("feed_forward") is not None:
        own["intermediate_dim"] = None  # a model always has one, and an activation
        own["activation"] = "relu"
    return own


def options_config(options):
    """Return a model's options as plain values, for its config."""
    return {name: _plain(name, value) for name, value in options.items()}


def _plain(name, value):
    if name == "activation":
        return activation_config(as_activation(value))
    if name == "position" and not isinstance(value, str):
        return keras.saving.serialize_keras_object(value)
    if name == "feed_forward":
        return feed_forward_config(value)
    return value


def tying_of(tie_embeddings, vocabulary_size, target_vocabulary_size):
    """Resolve and check `tie_embeddings` for two vocabulary sizes."""
    same = vocabulary_size == target_vocabulary_size
    if tie_embeddings is None:
        return "all" if same else "decoder"
    check_choice("tie_embeddings", tie_embeddings, TYING)
    if tie_embeddings == "all" and not same:
        raise ValueError(
            '`tie_embeddings="all"` needs one vocabulary for both sides. Received: '
            f"vocabulary_size={vocabulary_size}, "
            f"target_vocabulary_size={target_vocabulary_size}."
        )
    return tie_embeddings


def layer_counts(num_layers):
    """Numbers of encoder and decoder blocks from one number or a pair."""
    pair = num_layers if isinstance(num_layers, (tuple, list)) else [num_layers] * 2
    if len(pair) != 2:
        raise ValueError(
            "`num_layers` must be a number or a pair (encoder, decoder). "
            f"Received: {num_layers!r}."
        )
    return [check_positive_integer("num_layers", number) for number in pair]


def vocabulary_options(
    vocabulary_size, target_vocabulary_size, pad_id, end_id, start_id
):
    """Check sizes and special ids: different ids that both vocabularies have.

    Returns:
        A dictionary of the arguments, with a target size in any case.
    """
    check_positive_integer("vocabulary_size", vocabulary_size)
    if target_vocabulary_size is None:
        target_vocabulary_size = vocabulary_size
    check_positive_integer("target_vocabulary_size", target_vocabulary_size)
    smallest = min(vocabulary_size, target_vocabulary_size)
    ids = {"pad_id": pad_id, "end_id": end_id, "start_id": start_id}
    check_distinct_ids(ids, smallest, "the smallest vocabulary")
    sizes = int(vocabulary_size), int(target_vocabulary_size)
    return {
        "vocabulary_size": sizes[0],
        "target_vocabulary_size": sizes[1],
        **ids,
    }


def check_distinct_ids(ids, vocabulary_size, where="the vocabulary"):
    """Check that ids, a dictionary by name, differ and belong to a vocabulary."""
    for name, value in ids.items():
        if not isinstance(value, int) or not 0 <= value < vocabulary_size:
            raise ValueError(
                f"`{name}` must be an integer from 0 to {vocabulary_size - 1}, the "
                f"last id of {where}. Received: {value!r}."
            )
    if len(set(ids.values())) < len(ids):
        raise ValueError(f"Special ids must differ. Received: {ids}.")


def make_blocks(kind, number, prefix, options, policy, *, causal=False, **more):
    """Make the blocks of a stack, each with a position layer and seeds of its own.

    Args:
        kind: the class of the blocks.
        number: how many.
        prefix: what their names begin with.
        options: the model's options, by name.
        policy: dtype policy of the layers.
        causal: whether the stack is a decoder.
        **more: other arguments of each block.
    """
    known = (*SHARED_OPTIONS, *BLOCK_OPTIONS)
    shared = {name: options[name] for name in known if name in options}
    positions = block_positions(options, number, policy, causal=causal)
    names = [f"{prefix}_block_{i}" for i in range(number)]
    return [
        kind(
            **at_depth(shared, i, number),
            **more,
            position=position,
            seed=seed_for(options["seed"], name),
            dtype=policy,
            name=name,
        )
        for i, (name, position) in enumerate(zip(names, positions, strict=True), 1)
    ]


def make_norm(name, options, policy):
    """Make one more norm of the kind that the blocks have."""
    norm = NORMALIZATIONS[options["normalization"]]
    return norm(epsilon=options["layer_norm_epsilon"], dtype=policy, name=name)
