"""What a person sees of an error: one line, and an exit code."""

import os
import sys
import traceback
import zipfile
from contextlib import contextmanager, suppress

WRONG_USE = (
    ValueError,
    TypeError,
    ImportError,
    FileNotFoundError,
    FileExistsError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
    zipfile.BadZipFile,
)
INTERRUPTED = 130
NOBODY_READS = 141
STANDARD_OUTPUT = "standard output"


class LinesFailedError(Exception):
    """Some lines could not be worked on; the others were."""


def exit_code_of(work, debug=False):
    """Run a function, and report its error if it has one.

    Args:
        work: a function without arguments, which may return an exit code.
        debug: whether to show the traceback too.

    Returns:
        The exit code.
    """
    try:
        code = work() or 0
        with writing_to(STANDARD_OUTPUT):
            sys.stdout.flush()
    except BrokenPipeError:
        give_up_output()
        return NOBODY_READS
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            traceback.print_exc()
        if getattr(error, "filename", None) == STANDARD_OUTPUT:
            give_up_output()
        report(error)
        return code_of(error)
    return code


def report(error):
    """Write an error as one line to standard error."""
    if isinstance(error, KeyboardInterrupt):
        sys.stderr.write(f"\n{one_line(error)}\n")
    else:
        sys.stderr.write(f"Error: {one_line(error)}\n")


def one_line(error):
    """Return an error's words in one line, all of them."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, KeyboardInterrupt) and not error.args:
        return "Interrupted."
    return " ".join(str(error).split()) or type(error).__name__


def code_of(error):
    """Return 130 for Ctrl-C, 2 for wrong use, 1 for what failed while working."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    return 2 if isinstance(error, WRONG_USE) else 1


@contextmanager
def writing_to(name):
    """Give an error in writing that names no file this name."""
    try:
        yield
    except OSError as error:
        if error.errno and error.filename is None:
            error.filename = name
        raise


def print_line(text):
    """Write text and the end of its line to standard output."""
    with writing_to(STANDARD_OUTPUT):
        sys.stdout.write(f"{text}\n")


def give_up_output():
    """Throw away what is left to write, which Python would try again at its end."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
