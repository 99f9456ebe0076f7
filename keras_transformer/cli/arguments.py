"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer


def existing(**options):
    """Return the options of typer for an existing file."""
    return {"exists": True, "dir_okay": False, "show_default": False, **options}


def _search_option(name, metavar, help, **options):
    """Return an option that replaces what the model was saved with."""
    return typer.Option(
        name,
        metavar=metavar,
        help=f"{help} The model's own if not given.",
        show_default=False,
        rich_help_panel="Search",
        **options,
    )


Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="File that [bold]train[/bold] or Translator.save wrote.",
        **existing(),
    ),
]
Beam = Annotated[
    int | None,
    _search_option("--beam", "N", "Beams of the search; 1 is greedy.", min=1),
]
LengthPenalty = Annotated[
    float | None,
    _search_option(
        "--length-penalty", "ALPHA", "Favours long translations; 0 is none."
    ),
]
MaxLength = Annotated[
    int | None,
    _search_option("--max-length", "N", "Longest translation, in tokens.", min=1),
]
BatchSize = Annotated[
    int | None,
    _search_option("--batch-size", "N", "Sentences translated together.", min=1),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]
