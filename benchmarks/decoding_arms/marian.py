"""The Marian model of the transformers library with this library's weights."""

from typing import Any

import torch

from benchmarks.decoding_task import PAD, TOKENS, random_model
from benchmarks.matrix_peak import SIZE, matrix_peak
from benchmarks.quiet import core_count
from tests.interop.marian_weights import marian_model


class MarianDecoder:
    """Decodes with `MarianMTModel.generate`, a batch after the other on all cores.

    Args:
        task: a `DecodingTask`.
    """

    def __init__(self, task):
        self._model: Any = marian_model(random_model(task))
        torch.set_num_threads(core_count())
        # Its matrix library is slow on some CPUs, which readers should know.
        speed = matrix_peak(torch.mm, torch.rand(SIZE, SIZE))
        self.about = {"matrix product GFLOP/s": round(speed)}

    def __call__(self, batches, beams):
        """Return the generated ids of each batch."""
        return [self._generate(torch.tensor(batch), beams) for batch in batches]

    def _generate(self, ids, beams):
        with torch.inference_mode():
            found = self._model.generate(
                input_ids=ids.long(),
                attention_mask=(ids != PAD).long(),
                num_beams=beams,
                do_sample=False,
                early_stopping=False,
                length_penalty=0.0,
                min_new_tokens=TOKENS,
                max_new_tokens=TOKENS,
            )
        return found.numpy()[:, 1:]
