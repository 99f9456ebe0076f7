"""Lengths of targets in proportion to their sources."""

import dataclasses

from keras import ops

from keras_transformer.argument_checks import check_number
from keras_transformer.decoding.prompt import check_one_for_each


@dataclasses.dataclass(frozen=True)
class LengthRatios:
    """Bounds of a target's length, in tokens for each token of the source.

    Attributes:
        smallest: float of at least 0.
        largest: float above 0 and not below `smallest`, or None.

    Raises:
        ValueError: for values outside these ranges.
    """

    smallest: float = 0.0
    largest: float | None = None

    def __post_init__(self):
        check_number("min_ratio", self.smallest)
        if not 0 <= self.smallest < float("inf"):
            raise ValueError(
                f"`min_ratio` must be at least 0 and finite. Received: {self.smallest}."
            )
        if self.largest is None:
            return
        check_number("max_ratio", self.largest)
        if not max(self.smallest, 0) <= self.largest < float("inf") or not self.largest:
            raise ValueError(
                "`max_ratio` must be above 0, finite and not below `min_ratio`, "
                f"{self.smallest}. Received: {self.largest}."
            )

    def apply(self, prompt, source_lengths, min_length):
        """The prompt with a minimum for each source, and with its limits cut.

        Args:
            prompt: a `Prompt`.
            source_lengths: integers `(batch,)`; None if no ratio is set.
            min_length: int, the minimum without ratio.

        Raises:
            ValueError: if the lengths are missing.
        """
        if min_length:
            minimums = ops.zeros_like(prompt.limits) + min_length
            prompt = dataclasses.replace(prompt, minimums=minimums)
        if not self.smallest and self.largest is None:
            return prompt
        if source_lengths is None:
            raise ValueError(
                "`source_lengths` are needed for a search with `min_ratio` or "
                "`max_ratio`. Received: source_lengths=None."
            )
        batch = prompt.ids.shape[0]
        lengths = check_one_for_each("source_lengths", source_lengths, batch)
        lengths = ops.cast(lengths, "float32")
        if self.smallest:
            minimums = ops.cast(ops.floor(self.smallest * lengths), "int32")
            minimums = ops.maximum(minimums, min_length)
            prompt = dataclasses.replace(prompt, minimums=minimums)
        if self.largest is not None:
            most = ops.cast(ops.floor(self.largest * lengths), "int32")
            limits = prompt.prefix_length + ops.maximum(most, 1)
            limits = ops.minimum(prompt.limits, limits)
            prompt = dataclasses.replace(prompt, limits=limits)
        return prompt
