"""The command `export`."""

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from keras_transformer.cli.arguments import Beam, LengthPenalty, MaxLength, Model
from keras_transformer.cli.command import add_command
from keras_transformer.cli.error_report import print_line

EXAMPLES = [
    "keras-transformer export model.translator models/es",
    "keras-transformer export model.translator es_ct2 --format ctranslate2 "
    "--quantize int8",
]


class Format(StrEnum):
    """What is written."""

    SAVED_MODEL = "saved-model"
    CTRANSLATE2 = "ctranslate2"
    ONNX = "onnx"
    LITERT = "litert"


def export(
    model: Model,
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="Folder to write. A SavedModel goes into its next version: DIR/1.",
            file_okay=False,
            show_default=False,
        ),
    ],
    form: Annotated[
        Format,
        typer.Option(
            "--format",
            help="saved-model for TensorFlow Serving, or for another runtime.",
        ),
    ] = Format.SAVED_MODEL,
    quantize: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE",
            help="int8 stores weights in 8 bits; CTranslate2 has more types, such as "
            "float16.",
            show_default=False,
        ),
    ] = None,
    n_best: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Add the signature n_best, of N translations, to a SavedModel.",
            show_default=False,
        ),
    ] = 0,
    attention: Annotated[
        bool,
        typer.Option(
            "--attention", help="Add the signature attention to a SavedModel."
        ),
    ] = False,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    max_length: MaxLength = None,
):
    """Write a model for a server or another runtime.

    A folder appears whole or not at all. Prints its path.
    """
    if form != Format.SAVED_MODEL and (n_best or attention):
        raise ValueError(
            "--n-best and --attention are for --format saved-model. "
            f"Received: --format {form.value}."
        )
    if form != Format.SAVED_MODEL and (beam or length_penalty is not None):
        raise ValueError(
            "--beam and --length-penalty are for --format saved-model, which holds a "
            f"search. Received: --format {form.value}."
        )
    if form == Format.CTRANSLATE2 and max_length:
        raise ValueError(
            "--max-length is for formats that hold a limit. "
            f"Received: --format {form.value}."
        )
    if quantize not in (None, "int8") and form != Format.CTRANSLATE2:
        raise ValueError(
            f"--quantize must be int8 for --format {form.value}. Received: {quantize}."
        )
    from keras_transformer.cli.saved_translator import load_translator

    translator = load_translator(
        model,
        beam=beam,
        length_penalty=length_penalty,
        max_length=max_length,
    )
    if quantize is not None and form != Format.CTRANSLATE2:
        translator.model.quantize(quantize)
    if form == Format.SAVED_MODEL:
        folder = next_version(folder)
        translator.export(folder, n_best=n_best, attention=attention)
    elif form == Format.CTRANSLATE2:
        translator.export_ctranslate2(folder, quantization=quantize)
    else:
        _write_parts(form, folder, translator)
    print_line(folder)


def _write_parts(form, folder, translator):
    from keras_transformer.export import export_litert, export_onnx

    write = export_onnx if form == Format.ONNX else export_litert
    write(folder, translator.model, max_length=translator.max_length)


def next_version(folder):
    """Return the folder of the next version for a model server."""
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    versions = [int(name) for name in names if re.fullmatch("[0-9]+", name)]
    return folder / str(max(versions, default=0) + 1)


def add_to(app):
    """Add the command to an app."""
    add_command(app, export, examples=EXAMPLES)
