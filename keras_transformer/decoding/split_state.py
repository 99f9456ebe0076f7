"""A state of which only one part follows the hypotheses."""

from typing import Any, NamedTuple


class SplitState(NamedTuple):
    """What a step function changes, in two parts.

    A search goes on from some hypotheses several times and from others not at all, and
    for that it takes rows out of the state. What is large had better stay where it is,
    with something small that says which part of it belongs to whom.

    Attributes:
        moved: nest of tensors with one row a hypothesis, whose rows are taken.
        kept: nest of tensors with one row a source, with room for all its hypotheses.
    """

    moved: Any
    kept: Any
