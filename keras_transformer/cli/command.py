"""How a function becomes a command."""

import functools
import inspect
from typing import Annotated

import typer

from keras_transformer.cli.error_report import exit_code_of

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def add_command(app, function, *, examples, parameters=None, name=None):
    """Add a function to an app as a command with one-line errors and `--debug`.

    Args:
        app: a `typer.Typer`.
        function: its docstring is the help, its parameters are the options.
        examples: commands to show below the help.
        parameters: the options, if other than the function's own.
        name: name of the command; the function's own if not given.
    """
    signature = inspect.signature(function, eval_str=True)
    parameters = parameters or list(signature.parameters.values())
    debug = inspect.Parameter(
        "debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Debug
    )

    def command(**options):
        debug = options.pop("debug")
        code = exit_code_of(functools.partial(function, **options), debug)
        if code:
            raise typer.Exit(code)

    keywords = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    command.__signature__ = inspect.Signature([*keywords, debug])
    command.__annotations__ = {p.name: p.annotation for p in [*keywords, debug]}
    app.command(
        name or function.__name__,
        help=_help(inspect.getdoc(function) or ""),
        epilog=_epilog(examples),
    )(command)


def _help(docstring):
    paragraphs = docstring.split("\n\n")
    return "\n\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs)


def _epilog(examples):
    # Typer joins lines, but not paragraphs.
    return "\n\n".join(["[bold]Examples[/bold]", *(f"$ {line}" for line in examples)])
