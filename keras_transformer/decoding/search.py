"""What all searches share: options, validation, configuration."""

import abc
from collections.abc import Iterable

from keras_transformer.argument_checks import check_number
from keras_transformer.decoding.constraints import Constraints
from keras_transformer.decoding.length_ratios import LengthRatios
from keras_transformer.decoding.prompt import Prompt
from keras_transformer.decoding.step_function import StepFunction

STRONGEST_PENALTY = 8  # scores of 10,000 tokens are still float32 numbers


class Search(abc.ABC):
    """Base class of the searches over a step function.

    Args:
        length_penalty: float, the exponent alpha of `((5 + length) / 6) ** alpha`,
            by which log-probabilities are divided to give scores.
        min_length: int, tokens that must be generated before the end may be.
        min_ratio: float, the same for each token of the source; the larger of the two
            numbers counts.
        max_ratio: float, tokens that may be generated, end included, for each token
            of the source; None for no such limit.
        no_repeat_ngram: int, size of the n-grams that may not occur twice in a
            hypothesis; 0 turns the rule off.
        banned_tokens: ids that are never generated.

    Raises:
        ValueError: for an option outside its range.
    """

    def __init__(
        self,
        *,
        length_penalty=0.0,
        min_length=0,
        min_ratio=0.0,
        max_ratio=None,
        no_repeat_ngram=0,
        banned_tokens=(),
    ):
        check_number("length_penalty", length_penalty)
        if not abs(length_penalty) <= STRONGEST_PENALTY:
            raise ValueError(
                f"`length_penalty` must be in [-{STRONGEST_PENALTY}, "
                f"{STRONGEST_PENALTY}]. Received: {length_penalty}."
            )
        self.length_penalty = float(length_penalty)
        self.length_ratios = LengthRatios(min_ratio, max_ratio)
        if not isinstance(banned_tokens, Iterable):
            raise ValueError(
                f"`banned_tokens` must be a list of ids. Received: {banned_tokens!r}."
            )
        self.constraints = Constraints(
            min_length, no_repeat_ngram, tuple(banned_tokens)
        )

    def __call__(
        self,
        step,
        state,
        start_ids,
        *,
        max_length,
        start_index=0,
        limits=None,
        source_lengths=None,
        end_id=1,
        pad_id=0,
    ):
        """Searches for the best continuations of `start_ids`.

        Args:
            step: `step(token_ids, state, index) -> (logits, state)`. `token_ids` is
                int32 `(rows,)`, the tokens at position `index` (an int32 scalar);
                the logits are `(rows, vocabulary)` for position `index + 1`, of any
                floating dtype. `rows` is `batch`, times `num_beams` in a beam
                search, where the beams of a source are neighbours. The new state
                has the structure, shapes and dtypes of the old one. Rows whose
                search is over are still passed, with any token.
            state: what differs between hypotheses: any nest of tensors with first
                dimension `batch`, or None; or a `SplitState`, of which only one part
                is moved with the hypotheses. What the hypotheses of a source share is
                better closed over by `step`.
            start_ids: integers `(batch,)`, the start tokens, or
                `(batch, prefix_length)`, forced prefixes that begin with the start
                token. No meaning is given to an end or pad token in a prefix.
            max_length: int, number of positions, start token or prefix included.
            start_index: int, position in `start_ids` of the first token that `step`
                is given. `state` has read those before it.
            limits: integers `(batch,)`, a limit of its own for each source, at most
                `max_length`; None for `max_length` everywhere.
            source_lengths: integers `(batch,)`, tokens of each source, which the
                search's `min_ratio` and `max_ratio` need.
            end_id: int, the token that finishes a hypothesis.
            pad_id: int, the filler after the end. It is never generated.

        Returns:
            A `SearchResult`.

        Raises:
            ValueError: for arguments outside their range, or a `step` whose logits
                or state have the wrong shape.
        """
        prompt = Prompt.create(
            start_ids,
            max_length=max_length,
            start_index=start_index,
            limits=limits,
            end_id=end_id,
            pad_id=pad_id,
        )
        prompt = self.length_ratios.apply(
            prompt, source_lengths, self.constraints.min_length
        )
        return self._search(StepFunction(step, state), prompt)

    @abc.abstractmethod
    def _search(self, step, prompt):
        """Runs the loop: a `StepFunction` and a `Prompt` to a `SearchResult`."""

    def with_n_best(self, n_best):
        """Return this search, or one like it that gives `n_best` hypotheses.

        Raises:
            ValueError: for a number that it cannot give.
        """
        config = self.get_config()
        if n_best == config.get("n_best", 1):
            return self
        if "n_best" not in config:
            raise ValueError(
                f"`n_best` must be 1 with {type(self).__name__}. Received: {n_best}."
            )
        return type(self).from_config({**config, "n_best": n_best})

    def get_config(self):
        """The options as plain values."""
        return {
            "length_penalty": self.length_penalty,
            "min_length": self.constraints.min_length,
            "min_ratio": self.length_ratios.smallest,
            "max_ratio": self.length_ratios.largest,
            "no_repeat_ngram": self.constraints.no_repeat_ngram,
            "banned_tokens": list(self.constraints.banned_tokens),
        }

    @classmethod
    def from_config(cls, config):
        """A search with the options in `config`."""
        return cls(**config)

    def __eq__(self, other):
        if type(self) is not type(other):
            return NotImplemented
        return self.get_config() == other.get_config()

    def __hash__(self):
        return hash(repr(self))

    def __repr__(self):
        options = (f"{name}={value!r}" for name, value in self.get_config().items())
        return f"{type(self).__name__}({', '.join(options)})"


def check_search(search):
    """Return a search, or raise `TypeError` if it is something else."""
    if not isinstance(search, Search):
        raise TypeError(
            "`search` must be a search such as BeamSearch(num_beams=4). "
            f"Received: {search!r}."
        )
    return search
