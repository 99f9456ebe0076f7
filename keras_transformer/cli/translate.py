"""The command `translate`."""

import itertools
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from keras_transformer.cli.arguments import (
    BatchSize,
    Beam,
    LengthPenalty,
    MaxLength,
    Model,
)
from keras_transformer.cli.command import add_command
from keras_transformer.cli.error_report import STANDARD_OUTPUT, writing_to
from keras_transformer.cli.input_lines import STANDARD_INPUT, lines_of

EXAMPLES = [
    "keras-transformer translate model.translator input.txt -o output.txt",
    "echo 'Where is the station?' | keras-transformer translate model.translator",
    "keras-transformer translate model.translator input.txt --n-best 3 --json",
]


def translate(
    model: Model,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="Text, a sentence on each line; .gz too. Standard input if not given.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write to a file instead of standard output.",
            show_default=False,
        ),
    ] = None,
    n_best: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="The best N translations of each line, as line number, score and "
            "text with tabs between; at most as many as there are beams.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[
        bool,
        typer.Option("--json", help="Write an object of JSON for each translation."),
    ] = False,
    unbuffered: Annotated[
        bool,
        typer.Option(
            "--unbuffered",
            help="Answer each line at once, as on a terminal, which is slower.",
        ),
    ] = False,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    max_length: MaxLength = None,
    batch_size: BatchSize = None,
):
    """Translate text, line for line.

    As many lines come out as go in, in their order; blank ones stay blank. Only LF and
    CRLF end a line. Memory does not grow with the number of lines. A line that is
    longer than the model reads has a blank translation, and the exit code is 1.
    """
    if file not in (None, STANDARD_INPUT) and not file.is_file():
        raise ValueError(f"FILE must be an existing file. Received: {str(file)!r}.")
    if file and output and output.exists() and file.exists() and output.samefile(file):
        raise ValueError(f"--output must be another file than FILE. Received: {file}.")
    from keras_transformer.cli.line_translation import LineTranslation
    from keras_transformer.cli.saved_translator import load_translator

    translator = load_translator(
        model,
        beam=beam,
        length_penalty=length_penalty,
        max_length=max_length,
        batch_size=batch_size,
    )
    translator.search.with_n_best(n_best or 1)  # an error if it has fewer beams
    typed = file in (None, STANDARD_INPUT) and sys.stdin and sys.stdin.isatty()
    at_once = unbuffered or bool(typed)
    work = LineTranslation(translator)
    pieces = _pieces(work, lines_of(file), n_best, json, at_once)
    first = next(pieces, "")  # before an older output is lost to a wrong input
    with ExitStack() as stack:
        name = STANDARD_OUTPUT if output is None else str(output)
        stack.enter_context(writing_to(name))
        if output is None:
            sink = sys.stdout.buffer
        else:
            sink = stack.enter_context(output.open("wb"))
        for piece in itertools.chain([first], pieces):
            sink.write(piece.encode())
            if at_once:
                sink.flush()
        sink.flush()
    work.check()


def _pieces(work, lines, n_best, json, at_once):
    from keras_transformer.cli import line_translation

    if json or n_best:
        form = line_translation.as_json if json else line_translation.tab_separated
        hypotheses = work.hypotheses(lines, n_best or 1, at_once=at_once)
        return (form(*found) for found in hypotheses)
    texts = work.one_by_one(lines) if at_once else work.texts(lines)
    return (f"{text}\n" for text in texts)


def add_to(app):
    """Add the command to an app."""
    add_command(app, translate, examples=EXAMPLES)
