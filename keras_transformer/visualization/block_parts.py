"""The parts of a model that a picture of it shows."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """A box of the picture.

    Attributes:
        kind: `"embed"`, `"attend"`, `"feed"`, `"norm"`, `"use"` or `"add"`.
        name: what it does.
        detail: its settings.
        layers: the layers whose weights it has.
        residual: whether a residual connection ends here, which begins before the
            last part that does, or at the beginning of the block.
        memory: whether it attends to the encoder's output.
    """

    kind: str
    name: str
    detail: str = ""
    layers: tuple = ()
    residual: bool = False
    memory: bool = False


@dataclass(frozen=True)
class Weights:
    """Some weights, counted as a layer is."""

    weights: list


def number_of_parameters(layers):
    """Count the weights of layers, those that several share once."""
    weights = {id(w): w for layer in layers for w in layer.weights}
    return sum(math.prod(w.shape) for w in weights.values())


def norm_parts(norm):
    """Return a norm as a part, or nothing if there is none."""
    return [] if norm is None else [Part("norm", "Normalise", "", (norm,))]


def shared_weights(blocks):
    """Return the weights that all of several blocks have, such as a table of biases."""
    others = [{id(weight) for weight in block.weights} for block in blocks[1:]]
    return [w for w in blocks[0].weights if others and all(id(w) in o for o in others)]


def block_parts(blocks, causal=False):
    """Return the parts of one of several equal blocks, from its input up.

    Weights that all blocks share count in none.
    """
    block = blocks[0]
    attention = block.self_attention
    shared = {id(weight) for weight in shared_weights(blocks)}
    own = Weights([w for w in attention.weights if id(w) not in shared])
    name = "Masked self-attention" if causal else "Self-attention"
    steps = [(Part("attend", name, _heads(attention), (own,)), "self_attention")]
    if getattr(block, "has_cross_attention", False):
        cross = block.cross_attention
        part = Part("attend", "Cross-attention", _heads(cross), (cross,), memory=True)
        steps.append((part, "cross_attention"))
    network = block.feed_forward
    part = Part("feed", "Feed-forward", _network(network), (network,))
    steps.append((part, "feed_forward"))
    return [
        part
        for step, name in steps
        for part in _with_residual(step, getattr(block, f"{name}_residual"))
    ]


def _with_residual(step, around):
    if around.normalize_first:
        norm = Part("norm", "Normalise", "", (around,))
        return [norm, step, Part("add", "+", residual=True)]
    return [step, Part("norm", "Add, normalise", "", (around,), residual=True)]


def _heads(attention):
    words = [f"{attention.num_heads} heads of {attention.key_dim}"]
    shared = attention.num_key_value_heads
    if shared and shared != attention.num_heads:
        words.append(f"{shared} for keys and values")
    if attention.position is not None:
        words.append(type(attention.position).__name__)
    if attention.attention == "linear":
        words.append("linear")
    if attention.window is not None:
        words.append(f"window {attention.window}")
    return ", ".join(words)


def _network(network):
    width = getattr(network, "intermediate_dim", None)
    words = [] if type(network).__name__ == "FeedForward" else [type(network).__name__]
    if getattr(network, "num_experts", None):
        words.append(f"{network.top_k} of {network.num_experts} experts")
    if width:
        words.append(f"{width:,} wide")
    activation = getattr(network, "activation", None)
    if isinstance(activation, str):  # a gated one
        words.append(activation)
    elif activation is not None:
        words.append(getattr(activation, "__name__", type(activation).__name__))
    return ", ".join(words)
