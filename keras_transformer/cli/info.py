"""The command `info`."""

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from keras_transformer.cli.arguments import Json
from keras_transformer.cli.command import add_command
from keras_transformer.cli.error_report import print_line

EXAMPLES = [
    "keras-transformer info model.translator",
    "keras-transformer info models/es/1 --json",
]


def info(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="A translator file, or the folder of a SavedModel.",
            exists=True,
            show_default=False,
        ),
    ],
    json: Json = False,
):
    """Say what is in a translator file or a SavedModel."""
    from keras_transformer.cli.model_description import (
        described_export,
        described_translator,
    )

    if model.is_dir():
        report, text = described_export(model)
    else:
        report, text = described_translator(model)
    text = json_format.dumps(report, indent=1, ensure_ascii=False) if json else text
    print_line(text)


def add_to(app):
    """Add the command to an app."""
    add_command(app, info, examples=EXAMPLES)
