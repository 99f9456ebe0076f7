"""CTranslate2 with the weights and tokenizers of a translator, text in and out."""

import tempfile
from pathlib import Path

from benchmarks.quiet import core_count


def text_translator(translator, compute_type):
    """Return a function of a list of sentences, and of a number of beams.

    Args:
        translator: a `Translator`.
        compute_type: "float32" or "int8".
    """
    import ctranslate2
    import sentencepiece

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        translator.export_ctranslate2(path)
        source, target = (
            sentencepiece.SentencePieceProcessor(model_file=str(path / name))
            for name in ("source.spm", "target.spm")
        )
        engine = ctranslate2.Translator(
            str(path),
            compute_type=compute_type,
            inter_threads=core_count(),
            intra_threads=1,
        )

    def translate(texts, beams=1):
        results = engine.translate_batch(
            source.encode(texts, out_type=str),
            max_batch_size=translator.batch_size,
            beam_size=beams,
            length_penalty=0,
            min_decoding_length=0,
            max_decoding_length=translator.max_length - 1,
        )
        return target.decode([result.hypotheses[0] for result in results])

    return translate
