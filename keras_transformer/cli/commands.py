"""All commands, and the program that runs one of them."""

import logging
import sys
import warnings
from contextlib import contextmanager
from typing import Annotated

import typer

import keras_transformer
from keras_transformer.cli import (
    attention,
    check,
    demo,
    evaluate,
    export,
    info,
    train,
    translate,
)
from keras_transformer.cli.error_report import one_line, report


class OneLine(logging.Formatter):
    """A record as `Warning: ...`."""

    def format(self, record):
        """Return the line, and below it the traceback of an error that is logged."""
        line = f"{record.levelname.capitalize()}: {record.getMessage()}"
        if record.exc_info:
            line += f"\n{self.formatException(record.exc_info)}"
        return line


app = typer.Typer(
    name="keras-transformer",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (train, translate, evaluate, export, check, info, attention, demo):
    module.add_to(app)


def _print_version(wanted: bool):
    if wanted:
        typer.echo(f"keras-transformer {keras_transformer.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Show the version.",
            callback=_print_version,
            is_eager=True,
        ),
    ] = False,
):
    """Train translators, translate with them, and bring them to servers.

    A command says more of itself: [bold]keras-transformer train --help[/bold].
    Exit codes: 0, 1 for what failed while working, 2 for wrong use, 130 after Ctrl-C.
    """


def run(arguments=None):
    """Run a command, and return its exit code."""
    with _own_log():
        return _run(arguments)


def _run(arguments):
    try:
        code = typer.main.get_command(app)(
            arguments, prog_name="keras-transformer", standalone_mode=False
        )
    except typer.Abort:
        report(KeyboardInterrupt())
        return 130
    except Exception as error:
        # Wrong options: typer's own errors, whose class depends on its version.
        if not hasattr(error, "format_message"):
            raise
        return _report_wrong_use(error)
    return code if isinstance(code, int) else 0


def _report_wrong_use(error):
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stderr.write(f"{error.format_message()}\n")
        return 2
    message = " ".join(error.format_message().split()).removesuffix(".")
    command = error.ctx.command_path if getattr(error, "ctx", None) else "this command"
    sys.stderr.write(f"Error: {message}. {command} --help says more.\n")
    return error.exit_code


def _write_warning(message, *_, **__):
    sys.stderr.write(f"Warning: {one_line(message)}\n")


@contextmanager
def _own_log():
    """Write what the library logs and warns of as lines to standard error."""
    logger = logging.getLogger("keras_transformer")
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine())
    logger.addHandler(handler)
    propagate, logger.propagate = logger.propagate, False
    try:
        with warnings.catch_warnings():
            if not sys.warnoptions:
                warnings.simplefilter("ignore")
                warnings.filterwarnings("always", module="keras_transformer")
                warnings.showwarning = _write_warning
            yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate
