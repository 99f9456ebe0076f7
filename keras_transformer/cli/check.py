"""The command `check`."""

from pathlib import Path
from typing import Annotated

import typer

from keras_transformer.cli.backend_start import start_backend
from keras_transformer.cli.command import add_command
from keras_transformer.cli.error_report import print_line

EXAMPLES = [
    "keras-transformer check models/es",
    "keras-transformer check models/es/1",
]


def check(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="An exported version, models/es/1, or the folder of all, models/es.",
            exists=True,
            file_okay=False,
            show_default=False,
        ),
    ],
):
    """Read an exported model as a server would, and report its problems.

    The exit code is 1 if a server would refuse the model or answer wrongly.
    """
    start_backend()
    from keras_transformer.export import check as check_export

    report = check_export(folder)
    print_line(report)
    return 0 if report.ok else 1


def add_to(app):
    """Add the command to an app."""
    add_command(app, check, examples=EXAMPLES)
