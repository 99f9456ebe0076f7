"""One file that holds a model, its tokenizers and a search."""

import importlib
import json
import tempfile
import warnings
import zipfile
from pathlib import Path

import keras

FORMAT = "keras_transformer.Translator"
VERSION = 1
MODEL = "model.keras"
CONFIG = "translator.json"


def write_translator(path, model, tokenizers, config):
    """Write a translator to `path`, whole or not at all.

    Args:
        path: where to, a file name.
        model: a Keras model.
        tokenizers: dictionary of KerasHub tokenizers by role.
        config: dictionary of plain values and Keras configs.

    Raises:
        IsADirectoryError: if `path` is a folder.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(
            f"`path` must be a file name. Received: {str(path)!r}, a folder."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        folder = Path(folder)
        model.save(folder / MODEL)
        for role, tokenizer in tokenizers.items():
            (folder / role).mkdir()
            tokenizer.save_assets(str(folder / role))
        described = {
            "format": FORMAT,
            "version": VERSION,
            "tokenizers": {
                role: keras.saving.serialize_keras_object(tokenizer)
                for role, tokenizer in tokenizers.items()
            },
            **config,
        }
        (folder / CONFIG).write_text(json.dumps(described), encoding="utf-8")
        whole = folder / "whole.zip"
        with zipfile.ZipFile(whole, "w") as archive:
            for file in sorted(folder.rglob("*")):
                if file.is_file() and file != whole:
                    archive.write(file, file.relative_to(folder))
        whole.replace(path)


def read_translator(path):
    """Read what `write_translator` wrote.

    Args:
        path: the file.

    Returns:
        The model, the dictionary of tokenizers and the config.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is not a translator, or one of a newer version.
    """
    path = Path(path)
    if not path.is_file():
        hint = ", a folder; an exported model is read by TensorFlow" * path.is_dir()
        raise FileNotFoundError(
            f"`path` must be a file. Received: {str(path)!r}{hint}."
        )
    if not zipfile.is_zipfile(path):
        raise ValueError(f"`path` must be a saved Translator. Received: {str(path)!r}.")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path) as archive:
        config = _config(archive, path)
        archive.extractall(folder)
        model = keras.saving.load_model(Path(folder) / MODEL)
        tokenizers = {}
        if config["tokenizers"]:
            importlib.import_module("keras_hub")
        for role, serialized in config.pop("tokenizers").items():
            tokenizer = keras.saving.deserialize_keras_object(serialized)
            with warnings.catch_warnings():
                # KerasHub leaves the file that it reads to the garbage collector.
                warnings.simplefilter("ignore", ResourceWarning)
                tokenizer.load_assets(str(Path(folder) / role))
            tokenizers[role] = tokenizer
    return model, tokenizers, config


def _config(archive, path):
    described = {}
    if CONFIG in archive.namelist():
        described = json.loads(archive.read(CONFIG))
    if described.get("format") != FORMAT:
        raise ValueError(
            "`path` must be a file that `Translator.save` wrote. "
            f"Received: {str(path)!r}, an archive of something else."
        )
    if described["version"] > VERSION:
        raise ValueError(
            f"{str(path)!r} has the format version {described['version']}; this "
            f"release reads up to {VERSION}. Install a newer keras_transformer."
        )
    return described
