"""A language model and a search as one compiled function of prompts."""

import keras
from keras import ops

from keras_transformer.argument_checks import check_positive_integer
from keras_transformer.decoding.prompt import check_prompt_ids
from keras_transformer.decoding.sampling import seed_generator_of
from keras_transformer.decoding.scoring import IMPOSSIBLE
from keras_transformer.decoding.split_state import SplitState


class ContinuationGenerator(keras.Model):
    """Search for the best continuations of a batch of prompts.

    The prompts are read at one go, but for their last tokens, with which the search
    begins. Prompts of different lengths are moved to the right end of the batch: their
    last tokens stand below each other, the padding before them is masked, and each
    counts its positions from its own first token. So a prompt is continued in a batch
    as it is alone, where the width of the batch and `max_new_tokens` fit the model's
    positions.

    As a Keras model it is compiled by `predict` and `predict_on_batch` (by XLA on
    TensorFlow and JAX), and can be traced into a SavedModel. Each width of a batch of
    prompts is a function of its own.

    Args:
        model: a model with `start` and `step`, like `LanguageModel`, and the ids
            `end_id` and `pad_id`.
        search: a search of this package. Its ratios are in tokens for each token of
            the prompt, and repeated n-grams are also those of the prompt.
        max_new_tokens: largest number of tokens to generate, the end included.

    Raises:
        ValueError: for a number below 1; in the call, for prompts that are no integers
            (batch, length) with a known length, or that leave too few of the model's
            positions.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import GreedySearch, LanguageModel
        >>> from keras_transformer.decoding import ContinuationGenerator
        >>> model = LanguageModel(50, num_layers=1, hidden_dim=16, num_heads=2,
        ...                       intermediate_dim=32, max_length=16)
        >>> generator = ContinuationGenerator(model, GreedySearch(), max_new_tokens=8)
        >>> prompts = np.array([[5, 6, 7], [8, 9, 0]])
        >>> generator.predict_on_batch(prompts)["ids"].shape
        (2, 1, 8)
    """

    def __init__(self, model, search, max_new_tokens, **kwargs):
        super().__init__(**kwargs)
        self.model = model
        self.search = search
        # Keras tracks attributes, not those of a search: on JAX it would be a constant.
        self.seed_generator = seed_generator_of(search)
        self.max_new_tokens = check_positive_integer("max_new_tokens", max_new_tokens)
        if keras.backend.backend() == "tensorflow":
            # Keras leaves this off on CPUs, where it makes such a loop twice as fast.
            self.jit_compile = True

    def call(self, prompt_ids):
        """Search.

        Args:
            prompt_ids: int32 (batch, length), padded with the model's `pad_id`.

        Returns:
            The fields of a `SearchResult` in a dictionary, but that `ids` (batch,
            n_best, max_new_tokens) hold what comes after the prompt. A prompt of
            padding only has no hypothesis.
        """
        model, hypotheses = self.model, getattr(self.search, "num_beams", 1)
        prompt_ids = moved_right(check_prompt_ids(prompt_ids), model.pad_id)
        width = prompt_ids.shape[1]
        positions = width + self.max_new_tokens
        state, shared = model.start(
            prompt_ids[:, :-1], positions, hypotheses=hypotheses
        )
        real = ops.cast(ops.not_equal(prompt_ids, model.pad_id), "int32")
        lengths = ops.sum(real, axis=1)
        exists = ops.repeat(lengths, hypotheses)[:, None] > 0

        def step(token_ids, state, index):
            logits, state = model.step(
                token_ids, tuple(state), index, shared, hypotheses=hypotheses
            )
            return ops.where(exists, logits, IMPOSSIBLE), SplitState(*state)

        result = self.search(
            step,
            SplitState(*state),
            prompt_ids,
            max_length=positions,
            start_index=width - 1,
            source_lengths=lengths,
            end_id=model.end_id,
            pad_id=model.pad_id,
        )
        return result._replace(ids=result.ids[:, :, width:])._asdict()


def moved_right(ids, pad_id):
    """Bring the padding behind each row to its front.

    Args:
        ids: int32 (batch, length).
        pad_id: id of padding.

    Returns:
        int32 (batch, length). A token is the last of each row that has any.
    """
    length = ids.shape[1]
    places = ops.arange(length, dtype="int32")
    real = ops.not_equal(ids, pad_id)
    # An initial value, since a batch may be empty.
    last = ops.max(ops.where(real, places, -1), axis=1, keepdims=True, initial=-1)
    return ops.take_along_axis(ids, (places + last + 1) % length, axis=1)
