"""A caller's step function and its state, made fit for a compiled loop."""

from keras import ops, tree
from keras.backend import standardize_dtype

from keras_transformer.decoding.split_state import SplitState


class StepFunction:
    """Wraps `step(token_ids, state, index) -> (logits, state)`.

    Inside a loop the state is a tuple of tensors: its leaves, without the None ones.
    Searches aren't differentiated: no gradient flows into logits or state, so that
    no tape grows with the number of steps.

    Args:
        step: the caller's function.
        state: its state, any nest of tensors and None, or a `SplitState` of two.
    """

    def __init__(self, step, state):
        self._step = step
        self._structure = state
        self._leaves = tree.flatten(state)
        self.is_split = isinstance(state, SplitState)
        moved = state.moved if self.is_split else state
        self._moved = sum(leaf is not None for leaf in tree.flatten(moved))
        kept = sum(leaf is not None for leaf in self._leaves) - self._moved
        self.has_caches = self.is_split and kept > 0

    def start(self, batch, beams=1):
        """The leaves; unless the state is split, with every row `beams` times.

        Args:
            batch: int or scalar tensor, the number of sources.
            beams: int.

        Raises:
            ValueError: if a leaf's first dimension is known and wrong.
        """
        leaves = []
        for leaf in self._leaves:
            if leaf is None:
                continue
            leaf = ops.convert_to_tensor(leaf)
            if not self.is_split:
                _check_rows(leaf, batch, "the batch size of `start_ids`")
                leaf = ops.repeat(leaf, beams, axis=0) if beams > 1 else leaf
            elif len(leaves) < self._moved:
                _check_rows(leaf, batch * beams, "the number of hypotheses")
            else:
                _check_rows(leaf, batch, "the batch size of `start_ids`")
            leaves.append(leaf)
        return tuple(leaves)

    def move(self, leaves, rows):
        """The leaves of the hypotheses in `rows`, int32 `(batch * beams,)`."""
        moved, kept = leaves[: self._moved], leaves[self._moved :]
        return (*(ops.take(leaf, rows, axis=0) for leaf in moved), *kept)

    def __call__(self, token_ids, leaves, index):
        """One step.

        Args:
            token_ids: int32 `(rows,)`, the tokens at position `index`.
            leaves: tuple of tensors `(rows, ...)`.
            index: int32 scalar.

        Returns:
            `(logits, leaves)`: float32 `(rows, vocabulary)` for position `index + 1`,
            and the new state in the shapes of the old one.

        Raises:
            ValueError: if the logits have another rank or an unknown vocabulary
                size, or the new state differs from the old one in its structure,
                shapes or dtypes.
        """
        rows, remaining = token_ids.shape[0], iter(leaves)
        state = [None if leaf is None else next(remaining) for leaf in self._leaves]
        state = tree.pack_sequence_as(self._structure, state)
        logits, state = self._step(token_ids, state, index)
        shape = tuple(logits.shape)
        fits = len(shape) == 2 and (None in (rows, shape[0]) or shape[0] == rows)
        if not fits or shape[1] is None:
            raise ValueError(
                "`step` must return logits of shape (rows, vocabulary) with a known "
                f"vocabulary, here with {rows} rows. Received shape: {shape}."
            )
        logits = ops.cast(ops.stop_gradient(logits), "float32")
        return logits, self._same_leaves(state, leaves)

    def _same_leaves(self, state, before):
        try:
            tree.assert_same_structure(self._structure, state)
            for new, old in zip(tree.flatten(state), self._leaves, strict=True):
                if (new is None) != (old is None):
                    raise ValueError(f"{new} for {old}.")
        except (TypeError, ValueError) as error:
            raise ValueError(
                "`step` must return a state of the structure that it was given. "
                f"Received: {error}"
            ) from error
        after = [leaf for leaf in tree.flatten(state) if leaf is not None]
        pairs = zip(after, before, strict=True)
        return tuple(ops.stop_gradient(_like(new, old)) for new, old in pairs)


def _check_rows(leaf, rows, meaning):
    shape = tuple(leaf.shape)
    known = shape and isinstance(shape[0], int) and isinstance(rows, int)
    if not shape or (known and shape[0] != rows):
        raise ValueError(
            f"`state` must hold tensors whose first dimension is {meaning}, {rows}. "
            f"Received shape: {shape}."
        )


def _like(new, old):
    """`new` with the static shape of `old`, which a compiled loop holds on to."""
    new = ops.convert_to_tensor(new)
    have, want = tuple(new.shape), tuple(old.shape)
    agree = len(have) == len(want) and all(
        None in pair or pair[0] == pair[1] for pair in zip(have, want, strict=True)
    )
    dtypes = standardize_dtype(new.dtype), standardize_dtype(old.dtype)
    if not agree or dtypes[0] != dtypes[1]:
        raise ValueError(
            "`step` must return a state of the shapes and dtypes that it was given. "
            f"Received: {have} {dtypes[0]} for {want} {dtypes[1]}."
        )
    lost = any(a is None and b is not None for a, b in zip(have, want, strict=True))
    if not lost:
        return new
    pairs = zip(ops.shape(new), want, strict=True)
    return ops.reshape(new, [now if known is None else known for now, known in pairs])
