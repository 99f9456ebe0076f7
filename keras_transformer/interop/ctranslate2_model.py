"""Export to CTranslate2."""

from pathlib import Path

from keras_transformer.argument_checks import check_choice
from keras_transformer.interop.ctranslate2_options import check_options
from keras_transformer.interop.ctranslate2_weights import transformer_spec
from keras_transformer.interop.piece_vocabulary import PieceVocabulary
from keras_transformer.text.optional_imports import require
from keras_transformer.whole_folder import whole_folder


def export_ctranslate2(
    path, model, tokenizer, target_tokenizer=None, *, quantization=None
):
    """Write a model folder for CTranslate2, a fast engine for CPUs and GPUs.

    The folder holds the weights, the vocabularies and the SentencePiece models
    `source.spm` and `target.spm`. Sources are given as pieces, without the end, which
    CTranslate2 adds:

        translator = ctranslate2.Translator("es_ct2")
        source = sentencepiece.SentencePieceProcessor(model_file="es_ct2/source.spm")
        target = sentencepiece.SentencePieceProcessor(model_file="es_ct2/target.spm")
        pieces = source.encode(["A dog."], out_type=str)
        results = translator.translate_batch(
            pieces, beam_size=4, length_penalty=0, min_decoding_length=0
        )
        target.decode(results[0].hypotheses[0])

    Called like this it gives the same translations as `BeamSearch(num_beams=4,
    length_penalty=0)`, as long as none reaches the limit of its length. Where its
    search differs from ours:

    - Finished hypotheses are kept apart, as ours. They are those that end among the
      `beam_size` best of `2 * beam_size` continuations, also as ours.
    - The score is divided by `length ** length_penalty`, ours by
      `((5 + length) / 6) ** length_penalty`. The length counts the end in both. Its
      default is 1.
    - With a length penalty of 0 a search stops once `num_hypotheses` have ended and the
      best continuation of some step was an end: the best result is the one of a full
      search, the second best need not be. With another penalty it stops once
      `round(beam_size * patience)` have ended, even if a live one could still win; ours
      never stops before that is excluded.
    - `max_decoding_length` (256) counts generated tokens, the end among them and the
      start not: our `max_length` is one more. It is the same for all sources, ours
      is at most twice the source's length and 16. Hypotheses cut there compete with
      finished ones by their scores; ours come after them.
    - `min_decoding_length` is 1 by default, so that no translation is empty; ours may
      be. A source without pieces gives an empty translation with the score 0.
    - Padding is never generated here. There it is like any token, which a trained model
      hardly ever prefers; `suppress_sequences=[["<pad>"]]` forbids it.
    - Sources longer than `max_input_length` (1024) are cut, which 0 turns off. A
      position past the table is an error; sinusoidal ones are written for 4096.

    Key and value heads that serve several query heads are written once for each of
    these: the result is the same, and the cache is not smaller.

    Args:
        path: folder to make.
        model: a `Transformer`.
        tokenizer: SentencePiece tokenizer of the source.
        target_tokenizer: SentencePiece tokenizer of the target, if it is another.
        quantization: how weights are stored: `None` for float32, `"int8"`, `"int16"`,
            `"float16"`, `"bfloat16"`, or `"int8_float32"` and the like, which name the
            type of the other weights.

    Raises:
        FileExistsError: if `path` exists.
        ImportError: without ctranslate2.
        ValueError: for an option of the model that CTranslate2 has nothing for, such as
            positions inside attention, for a tokenizer without a SentencePiece model or
            with more pieces than the model has ids, or for an unknown quantization.
            Nothing is written then.
    """
    path = Path(path)
    if path.exists():
        raise FileExistsError(
            f"`path` must not exist yet. Received: {str(path)!r}, which exists."
        )
    ctranslate2 = require("ctranslate2", "export_ctranslate2")
    check_options(model)
    check_choice(
        "quantization",
        quantization,
        (None, *ctranslate2.specs.model_spec.ACCEPTED_MODEL_TYPES),
    )
    target_name = "tokenizer" if target_tokenizer is None else "target_tokenizer"
    source = PieceVocabulary("tokenizer", tokenizer, model.vocabulary_size)
    target = PieceVocabulary(
        target_name, target_tokenizer or tokenizer, model.target_vocabulary_size
    )
    spec = transformer_spec(ctranslate2.specs, model)
    _register(spec, model, source, target)
    spec.validate()
    spec.optimize(quantization=quantization)
    with whole_folder(path) as folder:
        spec.save(str(folder))
        (folder / "source.spm").write_bytes(source.proto)
        (folder / "target.spm").write_bytes(target.proto)


def _register(spec, model, source, target):
    special = {"eos_token": target.pieces[model.end_id], "unk_token": target.unknown}
    received = {"eos_token": source.pieces[model.end_id], "unk_token": source.unknown}
    if special != received:
        raise ValueError(
            "The tokenizers must have the same piece at the end id and for unknown "
            f"text. Received: {received} of the source, {special} of the target."
        )
    spec.register_source_vocabulary(source.pieces)
    spec.register_target_vocabulary(target.pieces)
    start = target.pieces[model.start_id]
    config = {
        **special,
        "bos_token": start,
        "decoder_start_token": start,
        "add_source_bos": False,
        "add_source_eos": True,
        "layer_norm_epsilon": model.options["layer_norm_epsilon"],
    }
    for name, value in config.items():
        setattr(spec.config, name, value)
