"""Greedy search."""

import keras

from keras_transformer.decoding.search import Search
from keras_transformer.decoding.selection import top
from keras_transformer.decoding.single_path import follow


@keras.saving.register_keras_serializable(package="keras_transformer")
class GreedySearch(Search):
    """Takes the most probable token at every position.

    Batch rows finish on their own; the loop ends when all have.

    Args:
        length_penalty: float, the exponent alpha of `((5 + length) / 6) ** alpha`,
            by which log-probabilities are divided to give scores. It doesn't change
            the tokens.
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

    Examples:
        >>> import numpy as np
        >>> from keras import ops
        >>> successor = ops.one_hot(np.array([0, 1, 3, 4, 1]), 5)  # 2 -> 3 -> 4 -> 1
        >>> def step(token_ids, state, index):
        ...     return 9.0 * ops.take(successor, token_ids, axis=0), state
        >>> result = GreedySearch()(step, None, np.array([2]), max_length=6)
        >>> ops.convert_to_numpy(result.ids).tolist()
        [[[2, 3, 4, 1, 0, 0]]]
    """

    def _search(self, step, prompt):
        def most_probable(logits, index):
            _, tokens = top(logits, 1)
            return tokens[:, 0]

        return follow(
            step, prompt, self.constraints, most_probable, self.length_penalty
        )
