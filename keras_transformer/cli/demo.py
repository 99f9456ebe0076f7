"""The command `demo`."""

from typing import Annotated, Any

import typer

from keras_transformer.cli.arguments import Beam, LengthPenalty, MaxLength, Model
from keras_transformer.cli.backend_start import start_backend
from keras_transformer.cli.command import add_command

EXAMPLES = [
    "keras-transformer demo model.translator --open",
    "keras-transformer demo model.translator --title 'To Spanish' --example 'A dog.'",
]


def demo(
    model: Model,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address to listen at; other machines reach 0.0.0.0.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Port to listen at.")
    ] = 7860,
    title: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Heading of the page.", show_default=False),
    ] = None,
    example: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="A sentence to choose on the page; again for further ones. English "
            "ones if not given.",
            show_default=False,
        ),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser.")
    ] = False,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    max_length: MaxLength = None,
):
    """Translate in a page of the browser, with scores and attention."""
    start_backend()
    from keras_transformer.cli.saved_translator import load_translator
    from keras_transformer.demo import serve_demo

    translator = load_translator(
        model, beam=beam, length_penalty=length_penalty, max_length=max_length
    )
    examples: dict[str, Any] = {"examples": example} if example else {}
    serve_demo(
        translator,
        host=host,
        port=port,
        title=title,
        open_browser=open_page,
        **examples,
    )


def add_to(app):
    """Add the command to an app."""
    add_command(app, demo, examples=EXAMPLES)
