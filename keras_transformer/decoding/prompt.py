"""What a search starts from: the forced tokens and the limits."""

import dataclasses
import numbers
from typing import Any

from keras import ops
from keras.backend import standardize_dtype

from keras_transformer.argument_checks import check_positive_integer
from keras_transformer.decoding.scoring import IMPOSSIBLE


@dataclasses.dataclass(frozen=True)
class Prompt:
    """Forced tokens at the head of every hypothesis, and the ids that bound it.

    Attributes:
        ids: int32 `(batch, max_length)`, the forced tokens followed by padding.
        prefix_length: int, number of forced tokens, the start token included.
        max_length: int, number of positions, the start token included.
        limits: int32 `(batch,)`, the number of positions of each source.
        end_id: int.
        pad_id: int.
        minimums: int32 `(batch,)`, tokens to generate before the end may be; or None.
        first_index: int, position of the first token that the step is given.
    """

    ids: Any
    prefix_length: int
    max_length: int
    limits: Any
    end_id: int
    pad_id: int
    minimums: Any = None
    first_index: int = 0

    @classmethod
    def create(
        cls, start_ids, *, max_length, start_index=0, limits=None, end_id, pad_id
    ):
        """Checks the arguments of a search and lays `start_ids` out.

        Args:
            start_ids: integers `(batch,)` or `(batch, prefix_length)`.
            max_length: int.
            start_index: int, position of the first token to be read.
            limits: integers `(batch,)` or None.
            end_id: int.
            pad_id: int.

        Raises:
            ValueError: for an id or a limit outside its range, or `start_ids` of
                another rank, of a floating dtype or with an unknown prefix length.
        """
        for name, value in {"end_id": end_id, "pad_id": pad_id}.items():
            check_natural_number(name, value)
        if end_id == pad_id:
            raise ValueError(
                f"`end_id` and `pad_id` must differ. Received: {end_id} for both."
            )
        start_ids = _two_dimensional(start_ids)
        prefix_length = start_ids.shape[1]
        check_positive_integer("max_length", max_length)
        if max_length < prefix_length:
            raise ValueError(
                "`max_length` must be at least the length of the prefix in "
                f"`start_ids`, {prefix_length}. Received: {max_length}."
            )
        check_natural_number("start_index", start_index)
        if start_index >= prefix_length:
            raise ValueError(
                "`start_index` must be the position of a token in `start_ids`, below "
                f"{prefix_length}. Received: {start_index}."
            )
        batch = ops.shape(start_ids)[0]
        padding = ops.full((batch, max_length - prefix_length), pad_id, dtype="int32")
        ids = ops.concatenate([start_ids, padding], axis=1)
        if limits is None:
            limits = ops.full((batch,), max_length, dtype="int32")
        limits = check_one_for_each("limits", limits, start_ids.shape[0])
        limits = ops.clip(limits, prefix_length, max_length)
        return cls(
            ids,
            prefix_length,
            max_length,
            limits,
            end_id,
            pad_id,
            first_index=start_index,
        )

    def is_open(self, index):
        """Which sources `(batch,)` have room for a token after `index`."""
        return index + 1 < self.limits

    def is_forced(self, index):
        """Whether the position after `index` belongs to the prefix."""
        return index + 1 < self.prefix_length

    def _nothing_is_forced(self):
        return self.first_index == self.prefix_length - 1

    def generated(self, index):
        """Number of generated tokens in a hypothesis that reaches to `index`."""
        return ops.maximum(index + 1 - self.prefix_length, 0)

    def force(self, logits, ids, index):
        """Leaves only the prefix's next token, with a logit of 0, where one stands.

        Args:
            logits: float32 `(rows, vocabulary)`.
            ids: int32 `(rows, max_length)`.
            index: int32 scalar.
        """
        if self._nothing_is_forced():
            return logits
        token = ops.take(ids, index + 1, axis=1)
        is_token = ops.arange(logits.shape[-1], dtype="int32") == token[:, None]
        certain = ops.where(is_token, ops.zeros_like(logits), IMPOSSIBLE)
        return ops.where(self.is_forced(index), certain, logits)

    def certain_if_forced(self, log_probs, logits, index):
        """Gives the tokens that `force` left probability 1, `(rows, count)`."""
        if self._nothing_is_forced():
            return log_probs
        return ops.where(self.is_forced(index), logits, log_probs)

    def write(self, ids, tokens, index):
        """Writes `tokens` `(...,)` at position `index + 1` of `ids` `(..., length)`."""
        here = ops.arange(self.max_length, dtype="int32") == index + 1
        return ops.where(here, ops.expand_dims(tokens, -1), ids)


def check_natural_number(name, value):
    """Raises a ValueError unless `value` is an integer of at least 0."""
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_integer or value < 0:
        raise ValueError(
            f"`{name}` must be an integer of at least 0. Received: {value!r}."
        )


def check_one_for_each(name, values, batch):
    """Gives int32 `(batch,)`; a ValueError unless they are integers of that shape."""
    values = ops.convert_to_tensor(values)
    dtype, shape = standardize_dtype(values.dtype), tuple(values.shape)
    fits = len(shape) == 1 and (None in (shape[0], batch) or shape[0] == batch)
    if "int" not in dtype or not fits:
        raise ValueError(
            f"`{name}` must hold integers of shape (batch,), here ({batch},). "
            f"Received: dtype {dtype}, shape {shape}."
        )
    return ops.cast(values, "int32")


def check_prompt_ids(prompt_ids):
    """Give int32 `(batch, length)`, or raise a ValueError."""
    prompt_ids = ops.convert_to_tensor(prompt_ids)
    dtype, shape = standardize_dtype(prompt_ids.dtype), tuple(prompt_ids.shape)
    if "int" not in dtype or len(shape) != 2 or not shape[1]:
        raise ValueError(
            "`prompt_ids` must hold integers of shape (batch, length), the length "
            f"known and at least 1. Received: dtype {dtype}, shape {shape}."
        )
    return ops.cast(prompt_ids, "int32")


def _two_dimensional(start_ids):
    start_ids = ops.convert_to_tensor(start_ids)
    dtype = standardize_dtype(start_ids.dtype)
    shape = tuple(start_ids.shape)
    if "int" not in dtype:
        raise ValueError(f"`start_ids` must hold integers. Received dtype: {dtype}.")
    if len(shape) not in (1, 2):
        raise ValueError(
            "`start_ids` must have shape (batch,) or (batch, prefix_length). "
            f"Received: {shape}."
        )
    start_ids = ops.cast(start_ids, "int32")
    if len(shape) == 1:
        return ops.expand_dims(start_ids, 1)
    if not shape[1]:
        raise ValueError(
            "`start_ids` must have a known prefix length of at least 1. "
            f"Received shape: {shape}."
        )
    return start_ids
