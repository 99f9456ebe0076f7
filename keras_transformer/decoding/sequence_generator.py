"""A model and a search as one compiled function of source ids."""

import keras
from keras import ops

from keras_transformer.argument_checks import check_positive_integer
from keras_transformer.decoding.length_limit import target_limit
from keras_transformer.decoding.sampling import seed_generator_of
from keras_transformer.decoding.split_state import SplitState


class SequenceGenerator(keras.Model):
    """Search for the best targets of a batch of sources.

    As a Keras model it is compiled by `predict` and `predict_on_batch` (by XLA on
    TensorFlow and JAX), and can be traced into a SavedModel. Each source has a limit
    of its own, `min(2 * length + 16, max_length)`.

    Args:
        model: a model with `start` and `step`, like `Transformer`, and the ids
            `start_id`, `end_id` and `pad_id`.
        search: a search of this package.
        max_length: largest number of target positions, the start token included.
        capacity: number of positions to make room for, `max_length` if not given.
            Sources whose limit is larger are cut there.

    Raises:
        ValueError: for a length below 1.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import Transformer
        >>> from keras_transformer.decoding import GreedySearch, SequenceGenerator
        >>> model = Transformer(50, num_layers=1, hidden_dim=16, num_heads=2,
        ...                     intermediate_dim=32)
        >>> generator = SequenceGenerator(model, GreedySearch(), max_length=8)
        >>> generator.predict_on_batch(np.array([[5, 6, 1]]))["ids"].shape
        (1, 1, 8)
    """

    def __init__(self, model, search, max_length, *, capacity=None, **kwargs):
        super().__init__(**kwargs)
        self.model = model
        self.search = search
        # Keras tracks attributes, not those of a search: on JAX it would be a constant.
        self.seed_generator = seed_generator_of(search)
        self.max_length = check_positive_integer("max_length", max_length)
        self.capacity = check_positive_integer("capacity", capacity or max_length)
        if keras.backend.backend() == "tensorflow":
            # Keras leaves this off on CPUs, where it makes such a loop twice as fast.
            self.jit_compile = True

    def call(self, source_ids):
        """Search.

        Args:
            source_ids: int32 (batch, source), padded with the model's `pad_id`.

        Returns:
            The fields of a `SearchResult` in a dictionary.
        """
        model, hypotheses = self.model, getattr(self.search, "num_beams", 1)
        state, shared = model.start(source_ids, self.capacity, hypotheses=hypotheses)

        def step(token_ids, state, index):
            logits, state = model.step(
                token_ids, tuple(state), index, shared, hypotheses=hypotheses
            )
            return logits, SplitState(*state)

        real = ops.cast(ops.not_equal(source_ids, model.pad_id), "int32")
        lengths = ops.sum(real, axis=1)
        return self.search(
            step,
            SplitState(*state),
            ops.full((ops.shape(source_ids)[0],), model.start_id, dtype="int32"),
            max_length=self.capacity,
            limits=target_limit(lengths, self.max_length),
            source_lengths=lengths,
            end_id=model.end_id,
            pad_id=model.pad_id,
        )._asdict()
