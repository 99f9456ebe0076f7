"""CTranslate2 with this library's weights."""

import tempfile
from pathlib import Path

import ctranslate2
import numpy as np

from benchmarks.decoding_arms.fastest import Fastest
from benchmarks.decoding_task import END, START, TOKENS, random_model
from benchmarks.quiet import core_count
from keras_transformer.interop.ctranslate2_weights import transformer_spec


class CTranslate2Decoder:
    """Decodes with `ctranslate2.Translator`.

    Several batches run on one core each; a single sentence on one core or on all,
    whichever is faster.

    Args:
        task: a `DecodingTask`.
        compute_type: "float32" or "int8".
    """

    def __init__(self, task, compute_type):
        size = task.options["vocabulary_size"]
        self._pieces = [f"<{number}>" for number in range(size)]
        self._ids = {piece: number for number, piece in enumerate(self._pieces)}
        cores = core_count()

        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "model")
            self._write(path, random_model(task))

            def decoder(inter_threads, intra_threads):
                translator = ctranslate2.Translator(
                    path,
                    compute_type=compute_type,
                    inter_threads=inter_threads,
                    intra_threads=intra_threads,
                )
                return lambda rows, beams: self._translate(translator, rows, beams)

            self._many = decoder(cores, 1)
            self._single = Fastest([decoder(1, 1), decoder(1, cores)])

    def __call__(self, batches, beams):
        """Return the generated ids of each batch."""
        rows = [row for batch in batches for row in batch]
        found = (self._many if len(rows) > 1 else self._single)(rows, beams)
        return np.split(np.array(found), len(batches))

    def _write(self, path, model):
        spec = transformer_spec(ctranslate2.specs, model)
        spec.register_source_vocabulary(self._pieces)
        spec.register_target_vocabulary(self._pieces)
        spec.config.bos_token = spec.config.decoder_start_token = self._pieces[START]
        spec.config.eos_token = self._pieces[END]
        spec.config.unk_token = self._pieces[START + 1]
        spec.config.add_source_bos, spec.config.add_source_eos = False, True
        spec.config.layer_norm_epsilon = model.options["layer_norm_epsilon"]
        spec.validate()
        spec.optimize()
        Path(path).mkdir()
        spec.save(path)

    def _translate(self, translator, rows, beams):
        results = translator.translate_batch(
            # It adds the end itself.
            [[self._pieces[number] for number in row[:-1]] for row in rows],
            max_batch_size=32,
            beam_size=beams,
            length_penalty=0,
            min_decoding_length=TOKENS,
            max_decoding_length=TOKENS,
        )
        return [
            [self._ids[piece] for piece in result.hypotheses[0]] for result in results
        ]
