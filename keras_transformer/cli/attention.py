"""The command `attention`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from keras_transformer.cli.arguments import Model
from keras_transformer.cli.command import add_command
from keras_transformer.cli.error_report import print_line
from keras_transformer.whole_folder import whole_file

EXAMPLES = [
    "keras-transformer attention model.translator 'A dog runs.' -o attention.html",
    "keras-transformer attention model.translator 'A dog runs.' --layer 3 -o a.png",
]
PICTURES = (".png", ".svg", ".pdf")
PARTS = ("cross", "encoder", "decoder")


def attention(
    model: Model,
    sentence: Annotated[
        str, typer.Argument(metavar="SENTENCE", help="Source.", show_default=False)
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write: .html for a page to look around in, .png, .svg or "
            ".pdf for a picture, .json for the numbers.",
            show_default=False,
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Its translation; the model's own if not given.",
            show_default=False,
        ),
    ] = None,
    part: Annotated[
        str,
        typer.Option(metavar="PART", help="In a picture: cross, encoder or decoder."),
    ] = "cross",
    layer: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="In a picture: the layer, from 0; all if not given.",
            show_default=False,
        ),
    ] = None,
    head: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="In a picture: the head, from 0; all if not given.",
            show_default=False,
        ),
    ] = None,
):
    """Show what each head looks at while the model translates a sentence."""
    _check(output, part, layer, head)
    from keras_transformer.cli.saved_translator import load_translator

    maps = load_translator(model).attention(sentence, target)
    write_maps(maps, output, part, layer, head)
    print_line(output)


def write_maps(maps, output, part, layer, head):
    """Write attention maps as what the file's ending says."""
    from keras_transformer import visualization

    with whole_file(output) as file:
        if output.suffix == ".html":
            file.write_text(visualization.attention_html(maps), encoding="utf-8")
        elif output.suffix == ".json":
            data = visualization.attention_data(maps)
            file.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
        else:
            figure = visualization.plot_attention(maps, part, layer=layer, head=head)
            figure.savefig(file, dpi=150)


def _check(output, part, layer, head):
    """Refuse what can be known to be wrong before the long work."""
    endings = (".html", ".json", *PICTURES)
    if output.suffix not in endings:
        raise ValueError(
            f"--output must end in {', '.join(endings)}. Received: {str(output)!r}."
        )
    if not output.parent.is_dir():
        raise ValueError(
            f"--output must be in a folder that exists. Received: {str(output)!r}."
        )
    if part not in PARTS:
        raise ValueError(f"--part must be one of {PARTS}. Received: {part!r}.")
    if head is not None and layer is None:
        raise ValueError(f"--head needs a --layer. Received: --head {head}.")
    given = part != "cross" or layer is not None or head is not None
    if given and output.suffix not in PICTURES:
        raise ValueError(
            f"--part, --layer and --head are for pictures, {', '.join(PICTURES)}. "
            f"Received: --output {str(output)!r}."
        )


def add_to(app):
    """Add the command to an app."""
    add_command(app, attention, examples=EXAMPLES)
