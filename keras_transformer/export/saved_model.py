"""Export of a translator as a SavedModel."""

import logging
from pathlib import Path

from keras_transformer.argument_checks import check_positive_integer
from keras_transformer.decoding import Sampling
from keras_transformer.decoding.search import check_search
from keras_transformer.export.serving_functions import ServingFunctions
from keras_transformer.export.warm_up import write_warm_up
from keras_transformer.text.optional_imports import require
from keras_transformer.text.sentence_batches import check_sentences
from keras_transformer.whole_folder import whole_folder

logger = logging.getLogger(__name__)

WARM_UP_TEXTS = (["Hello."], ["Hello.", "How are you?", "", "Good night."])


def export_saved_model(
    path,
    model,
    tokenizer,
    target_tokenizer=None,
    *,
    search,
    max_length=256,
    max_source_length=1024,
    n_best=0,
    attention=False,
    warm_up=WARM_UP_TEXTS,
):
    """Write a SavedModel that translates text, for TensorFlow Serving.

    Signatures, with the batch as first dimension of every tensor:

    - `serving_default`: `text` string (batch,) to `translation` string (batch,) and
      `score` float32 (batch,).
    - `translate_ids`: `source_ids` int32 (batch, source), each row with its end and
      padding, to `ids` int32 (batch, target) and `score`. Core operations only.
    - `n_best`, if asked for: `text` to `translation` string (batch, n) and `score`
      float32 (batch, n), the best first; blank and -inf where no more were found.
    - `score`: `text` and `translation` string (batch,) to `log_probability` float32
      (batch,) and `length` int32 (batch,).
    - `attention`, if asked for: `text` and `translation` string (batch,) to
      `source_tokens` string (batch, source), `target_tokens` and `predicted_tokens`
      string (batch, target), and `encoder`, `decoder` and `cross` float32 (batch,
      layers, heads, query, key), see `AttentionMaps`. Blank tokens and zeros stand
      where a row has ended; a row of more than `max_length` tokens has none.

    The folder appears whole, by a rename, so that a server that watches its parent
    never sees half a version.

    Args:
        path: folder to make, `models/es/1` for a server of `models/es`.
        model: a `Transformer` on the TensorFlow backend.
        tokenizer: SentencePiece tokenizer of the source.
        target_tokenizer: tokenizer of the target, if it is another.
        search: the search of the text and id signatures.
        max_length: largest number of target positions.
        max_source_length: largest number of source positions, its end included, and of
            positions of a translation to score. With `max_length` it bounds the work
            of a request: a longer text gets a blank translation of the score -inf, and
            nothing is computed for it.
        n_best: number of translations of the signature `n_best`; 0 for no such one,
            since it adds to the graph. At most the beams of a beam search.
        attention: whether to add the signature `attention`.
        warm_up: requests that the server answers before others, a list of lists of
            strings. They are answered here first. Empty for none.

    Raises:
        FileExistsError: if `path` exists.
        RuntimeError: on another backend than TensorFlow.
        ValueError: for a tokenizer without a SentencePiece model, a sampling search
            without a seed, warm-up requests that are no lists of strings, or a
            length below 1.
    """
    path, search = _checked_path(path), check_search(search)
    max_length = check_positive_integer("max_length", max_length)
    warm_up = _checked_warm_up(warm_up)
    if isinstance(search, Sampling) and not isinstance(search.seed, int):
        raise ValueError(
            "`search` must have an integer seed to be exported; each request then "
            f"draws the same. Received: {search!r}."
        )
    tf = require("tensorflow", "export")
    functions = ServingFunctions(
        model,
        tokenizer,
        target_tokenizer or tokenizer,
        search,
        max_length,
        check_positive_integer("max_source_length", max_source_length),
        n_best and check_positive_integer("n_best", n_best),
        attention,
    )
    module = tf.Module()
    module.variables_of_model = [variable.value for variable in model.variables]
    module.tokenizers = [functions.source.pieces, functions.target.pieces]
    signatures = functions.signatures()
    for batch in warm_up:
        signatures["serving_default"](text=tf.constant(batch, tf.string))
    with whole_folder(path) as folder:
        tf.saved_model.save(module, str(folder), signatures=signatures)
        if warm_up:
            write_warm_up(folder, warm_up)


def _checked_path(path):
    path = Path(path)
    if path.exists():
        raise FileExistsError(
            f"`path` must not exist yet: give the next version number. "
            f"Received: {str(path)!r}."
        )
    if not path.name.isdigit():
        logger.warning(
            "TensorFlow Serving takes only folders whose name is a number, such as "
            "models/es/1, for versions. Received: %s",
            path,
        )
    return path


def _checked_warm_up(warm_up):
    if warm_up is not None and not isinstance(warm_up, list | tuple):
        raise TypeError(
            f"`warm_up` must be a list of lists of strings. Received: {warm_up!r}."
        )
    return [check_sentences("warm_up", batch) for batch in warm_up or ()]
