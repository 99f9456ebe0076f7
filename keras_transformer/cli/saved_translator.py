"""A translator from its file, with the options of a command."""

import zipfile

from keras_transformer.cli.backend_start import start_backend, without_chatter


def load_translator(path, *, beam=None, length_penalty=None, **sizes):
    """Read a translator, and give it another search or other sizes.

    Args:
        path: the file.
        beam: number of beams; its own if `None`.
        length_penalty: its own if `None`.
        **sizes: `max_length` and `batch_size`; its own where `None`.

    Raises:
        ValueError: if the file is not a saved translator, or an option out of range.
    """
    if not zipfile.is_zipfile(path):  # before the seconds that TensorFlow takes
        raise ValueError(
            "MODEL must be a file that `train` or `Translator.save` wrote. "
            f"Received: {str(path)!r}."
        )
    start_backend()
    from keras_transformer.translator import Translator

    with without_chatter():  # SentencePiece's
        try:
            translator = Translator.load(path)
        except zipfile.BadZipFile as error:
            raise ValueError(f"{path} is damaged: {error}") from error
    if beam is None and length_penalty is None and not any(sizes.values()):
        return translator
    given = {name: size for name, size in sizes.items() if size is not None}
    return Translator(
        translator.model,
        translator.tokenizer,
        translator.target_tokenizer,
        search=search_with(translator.search, beam, length_penalty),
        **{
            "max_length": translator.max_length,
            "max_source_length": translator.max_source_length,
            "batch_size": translator.batch_size,
            **given,
        },
    )


def search_with(search, beam, length_penalty):
    """Return a beam search with these options, or the search that is there.

    What another kind of search forbids or asks for (lengths, ratios, repetitions,
    tokens) stays. Its length penalty chooses nothing there, and does not.
    """
    from keras_transformer.decoding import BeamSearch
    from keras_transformer.decoding.search import Search

    changes = {"num_beams": beam, "length_penalty": length_penalty}
    changes = {name: value for name, value in changes.items() if value is not None}
    if isinstance(search, BeamSearch):
        config = {**search.get_config(), **changes}
    elif beam is None and length_penalty is not None:
        raise ValueError(
            "--length-penalty is for beam search: give --beam too. Received: a "
            f"translator with {type(search).__name__}."
        )
    elif changes:
        config = {**Search.get_config(search), **changes}
        if length_penalty is None:
            del config["length_penalty"]
    else:
        return search
    config["n_best"] = min(config.get("n_best", 1), config["num_beams"])
    return BeamSearch.from_config(config)
