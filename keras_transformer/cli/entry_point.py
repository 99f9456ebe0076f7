"""Where the command line begins."""

import importlib
import sys

EXTRA = 'pip install "keras-transformer-layers[cli]"'
NEEDED = ("typer", "yaml")


def main(arguments=None):
    """Run a command.

    Args:
        arguments: list of strings; those of the process if not given.

    Returns:
        The exit code: 0, 1 for what failed while working, 2 for wrong use, 130 after
        Ctrl-C, 141 when nobody reads the output any more.
    """
    try:
        commands = importlib.import_module("keras_transformer.cli.commands")
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        sys.stderr.write(
            f"Error: the command line needs {error.name}. Install it with: {EXTRA}\n"
        )
        return 2
    return commands.run(arguments)
