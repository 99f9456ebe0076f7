"""Where the command line begins."""

import importlib
import importlib.util
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
    for name in NEEDED:
        if importlib.util.find_spec(name) is None:
            sys.stderr.write(
                f"Error: the command line needs {name}. Install it with: {EXTRA}\n"
            )
            return 2
    commands = importlib.import_module("keras_transformer.cli.commands")
    return commands.run(arguments)
