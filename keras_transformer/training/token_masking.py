"""Masked tokens to train a masked language model on."""

from numbers import Integral

import numpy as np

from keras_transformer.argument_checks import check_positive_integer, check_rate

MASKED, REPLACED = 0.8, 0.1  # shares of the chosen tokens; the others stay


class TokenMasking:
    """Choose tokens to predict, and hide most of them.

    Each token is chosen with the probability `rate`. Of the chosen ones, 80 % become
    the mask, 10 % another token at random, and 10 % stay. The labels are the tokens
    that were there, and padding elsewhere: `SmoothedCrossEntropy` and `TokenAccuracy`
    then count the chosen positions only, and need no weights.

    Each call draws anew, so that a text is masked in another way in each epoch.

    Args:
        vocabulary_size: number of token ids.
        mask_id: id of the mask.
        pad_id: id of padding, and the label of what is not to be predicted.
        special_ids: other ids that are never chosen and never put in a token's place,
            those of start and end for example.
        rate: share of the tokens that is chosen, in [0, 1).
        seed: seed of the draws, or a `numpy.random.Generator`.

    Raises:
        ValueError: for ids outside the vocabulary, a mask that is padding, a vocabulary
            without other ids, or a rate outside [0, 1).

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import TokenMasking
        >>> masking = TokenMasking(50, mask_id=3, special_ids=[1, 2], rate=0.5, seed=6)
        >>> inputs, labels = masking(np.array([[2, 11, 12, 13, 14, 1, 0]]))
        >>> print(inputs, labels)
        [[ 2  3  3  3 14  1  0]] [[ 0 11 12 13  0  0  0]]

    Reference: Devlin et al., 2019, "BERT: Pre-training of Deep Bidirectional
    Transformers for Language Understanding", section 3.1.
    """

    def __init__(
        self,
        vocabulary_size,
        mask_id,
        *,
        pad_id=0,
        special_ids=(),
        rate=0.15,
        seed=None,
    ):
        self.vocabulary_size = check_positive_integer(
            "vocabulary_size", vocabulary_size
        )
        special_ids = tuple(special_ids)
        named = {"mask_id": [mask_id], "pad_id": [pad_id], "special_ids": special_ids}
        for name, values in named.items():
            for value in values:
                if isinstance(value, bool) or not isinstance(value, Integral):
                    raise ValueError(f"`{name}` must be integers. Received: {value!r}.")
                if not 0 <= int(value) < vocabulary_size:
                    raise ValueError(
                        f"`{name}` must be ids from 0 to {vocabulary_size - 1}. "
                        f"Received: {value!r}."
                    )
        if mask_id == pad_id:
            raise ValueError(
                f"`mask_id` and `pad_id` must differ. Received: {mask_id} for both."
            )
        self.mask_id, self.pad_id = mask_id, pad_id
        self.rate = check_rate("rate", rate)
        never = [mask_id, pad_id, *special_ids]
        self.is_token = ~np.isin(np.arange(vocabulary_size), never)
        self.tokens = np.flatnonzero(self.is_token)
        if not len(self.tokens):
            raise ValueError(
                "`special_ids` must leave some ids of the vocabulary. "
                f"Received: {special_ids} of {vocabulary_size}."
            )
        self.random = np.random.default_rng(seed)

    def __call__(self, token_ids):
        """Mask a batch.

        Args:
            token_ids: integers (batch, length), padded with `pad_id`.

        Returns:
            The inputs and the labels, of the same shape and dtype.

        Raises:
            ValueError: for ids that are no integers or outside the vocabulary.
        """
        ids = np.asarray(token_ids)
        if ids.dtype.kind not in "iu":
            raise ValueError(
                f"`token_ids` must be integers. Received: dtype {ids.dtype}."
            )
        if np.iinfo(ids.dtype).max < (last := self.vocabulary_size - 1):
            raise ValueError(
                f"`token_ids` must have a dtype that holds the last id, {last}. "
                f"Received: dtype {ids.dtype}."
            )
        if ids.size and not 0 <= ids.min() <= ids.max() < self.vocabulary_size:
            raise ValueError(
                f"`token_ids` must be from 0 to {self.vocabulary_size - 1}. "
                f"Received: ids from {ids.min()} to {ids.max()}."
            )
        draw = self.random.random
        chosen = self.is_token[ids] & (draw(ids.shape) < self.rate)
        fate = draw(ids.shape)
        others = self.random.choice(self.tokens, ids.shape).astype(ids.dtype)
        inputs = np.where(chosen & (fate < MASKED), self.mask_id, ids)
        replaced = chosen & (fate >= MASKED) & (fate < MASKED + REPLACED)
        inputs = np.where(replaced, others, inputs)
        labels = np.where(chosen, ids, self.pad_id)
        return inputs.astype(ids.dtype), labels.astype(ids.dtype)
