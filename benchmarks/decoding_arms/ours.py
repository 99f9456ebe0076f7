"""This library: its batch generator, on any backend."""

import numpy as np

from benchmarks.decoding_task import TOKENS, random_model
from keras_transformer.decoding import BatchGenerator, BeamSearch, GreedySearch


class OurDecoder:
    """Decodes with `BatchGenerator`, which runs batches in threads.

    Args:
        task: a `DecodingTask`.
    """

    def __init__(self, task):
        model = random_model(task)
        # The end may not come before the last position, so all targets are as long.
        searches = {
            1: GreedySearch(min_length=TOKENS),
            4: BeamSearch(num_beams=4, length_penalty=0.0, min_length=TOKENS),
        }
        self._generators = {
            beams: BatchGenerator(model, search, max_length=TOKENS + 1)
            for beams, search in searches.items()
        }

    def __call__(self, batches, beams):
        """Return the generated ids of each batch."""
        results = self._generators[beams](batches)
        return [np.asarray(result["ids"])[:, 0, 1:] for result in results]
