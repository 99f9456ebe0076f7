"""The command `train`."""

import dataclasses
import inspect
from pathlib import Path
from typing import Annotated, Literal

import typer

from keras_transformer.cli.arguments import existing
from keras_transformer.cli.backend_start import start_backend
from keras_transformer.cli.combined_settings import combined
from keras_transformer.cli.command import add_command
from keras_transformer.cli.error_report import print_line
from keras_transformer.cli.setting import kind_of
from keras_transformer.cli.train_settings import RUN, TrainSettings

EXAMPLES = [
    "keras-transformer train --corpus toy --tokens-per-batch 1024 -o models/toy",
    "keras-transformer train --pairs pairs.tsv --size small --output models/es",
    "keras-transformer train --config models/es/run.yaml --seed 1 -o models/es1",
]


def train(config=None, quiet=False, **given):
    """Train a translator, and go on where an interrupted run was.

    The folder of the run gets run.yaml with all settings, log.json with the curves,
    the tokenizer, the checkpoint and model.translator, whose path is printed. After
    Ctrl-C or a crash the same command goes on from the last checkpoint, and ends with
    the same weights as a run that nothing interrupted.
    """
    from keras_transformer.cli import run_folder

    given = {name: value for name, value in given.items() if value is not None}
    read = run_folder.read_settings(config) if config is not None else {}
    settings = combined(read, given).resolved()
    settings.output.mkdir(parents=True, exist_ok=True)
    with run_folder.held(settings.output):
        run_folder.claim(settings)
        print_line(_train(settings, quiet))


def _train(settings, quiet):
    from keras_transformer.cli import run_folder

    start_backend(to_train=True)
    from keras_transformer.cli.training_run import TrainingRun

    try:
        return TrainingRun(settings, quiet=quiet).finish()
    except KeyboardInterrupt as error:
        begun = (settings.output / run_folder.BACKUP).exists()
        what = "Go on from the last checkpoint" if begun else "Begin again"
        raise KeyboardInterrupt(
            f"Interrupted. {what} with: keras-transformer train "
            f"--config {settings.output / run_folder.SETTINGS}"
        ) from error


def options():
    """Return the parameters of the command: all settings, and how to give them."""
    config = Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Settings from a file; options given besides replace them.",
            rich_help_panel=RUN,
            **existing(),
        ),
    ]
    quiet = Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Write errors only.", rich_help_panel=RUN),
    ]
    fields = dataclasses.fields(TrainSettings)
    return [
        *(_parameter(field.name, _option(field)) for field in fields),
        _parameter("config", config),
        _parameter("quiet", quiet, default=False),
    ]


def _parameter(name, annotation, default=None):
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=annotation,
    )


def _option(field):
    """Return the annotation of an option whose absence is `None`."""
    kind, about = kind_of(field), field.metadata
    help, metavar = about["help"], about["metavar"]
    checks = existing() if kind is Path and field.name != "output" else {}
    if about["choices"]:
        kind = Literal[about["choices"]]
        help = f"{help}: {', '.join(about['choices'])}."
        metavar = "NAME"
    if field.default is not None:
        help += rf" \[default: {field.default}]"
    return Annotated[
        kind | None,
        typer.Option(
            f"--{field.name.replace('_', '-')}",
            *(["-o"] if field.name == "output" else []),
            metavar=metavar,
            help=help,
            rich_help_panel=about["panel"],
            **{"show_default": False, **checks},
        ),
    ]


def add_to(app):
    """Add the command to an app."""
    add_command(app, train, examples=EXAMPLES, parameters=options())
