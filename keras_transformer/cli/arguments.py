"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="File that [bold]train[/bold] or Translator.save wrote.",
        exists=True,
        dir_okay=False,
        show_default=False,
    ),
]

SEARCH = "Search"

Beam = Annotated[
    int | None,
    typer.Option(
        "--beam",
        min=1,
        metavar="N",
        help="Beams of the search; 1 is greedy. The model's own if not given.",
        show_default=False,
        rich_help_panel=SEARCH,
    ),
]
LengthPenalty = Annotated[
    float | None,
    typer.Option(
        "--length-penalty",
        metavar="ALPHA",
        help="Favours long translations; 0 is none. The model's own if not given.",
        show_default=False,
        rich_help_panel=SEARCH,
    ),
]
MaxLength = Annotated[
    int | None,
    typer.Option(
        "--max-length",
        min=1,
        metavar="N",
        help="Longest translation, in tokens. The model's own if not given.",
        show_default=False,
        rich_help_panel=SEARCH,
    ),
]
BatchSize = Annotated[
    int | None,
    typer.Option(
        "--batch-size",
        min=1,
        metavar="N",
        help="Sentences translated together. The model's own if not given.",
        show_default=False,
        rich_help_panel=SEARCH,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]


def existing(**options):
    """Return the options of typer for an existing file."""
    return {"exists": True, "dir_okay": False, "show_default": False, **options}
