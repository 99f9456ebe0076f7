"""The command `evaluate`."""

import json as json_format
import logging
from pathlib import Path
from typing import Annotated

import typer

from keras_transformer.cli.arguments import (
    BatchSize,
    Beam,
    Json,
    LengthPenalty,
    MaxLength,
    Model,
    existing,
)
from keras_transformer.cli.backend_start import start_backend
from keras_transformer.cli.command import add_command
from keras_transformer.cli.error_report import print_line
from keras_transformer.cli.input_lines import lines_of

logger = logging.getLogger(__name__)

EXAMPLES = [
    "keras-transformer evaluate model.translator --pairs test.tsv",
    "keras-transformer evaluate model.translator --source test.en --reference test.es",
]
TEXTS = "Held-out text"
SCORES = "Scores"


def evaluate(
    model: Model,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Source, tab and reference on each line.",
            rich_help_panel=TEXTS,
            **existing(),
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Sources, one on each line.",
            rich_help_panel=TEXTS,
            **existing(),
        ),
    ] = None,
    reference: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Their right translations; again for further ones of each line.",
            rich_help_panel=TEXTS,
            **existing(),
        ),
    ] = None,
    tokenize: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="sacreBLEU's tokenizer for BLEU; none for tokenized text.",
            rich_help_panel=SCORES,
        ),
    ] = "13a",
    lowercase: Annotated[
        bool,
        typer.Option(
            "--lowercase", help="Let BLEU ignore case.", rich_help_panel=SCORES
        ),
    ] = False,
    json: Json = False,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    max_length: MaxLength = None,
    batch_size: BatchSize = None,
):
    """Translate held-out text and score it: BLEU and chrF by sacreBLEU.

    The signatures say what was computed how.
    """
    sources, references = _held_out(pairs, source, reference)
    from keras_transformer.cli.saved_translator import load_translator

    translator = load_translator(
        model,
        beam=beam,
        length_penalty=length_penalty,
        max_length=max_length,
        batch_size=batch_size,
    )
    scores = translator.evaluate(
        sources, references, tokenize=tokenize, lowercase=lowercase
    )
    text = json_format.dumps(scores.to_dict()) if json else _lines(scores)
    print_line(text)


def _lines(scores):
    return (
        f"BLEU {scores.bleu:.1f}  {scores.bleu_signature}\n"
        f"chrF {scores.chrf:.1f}  {scores.chrf_signature}\n"
        f"{scores.sentences} sentences"
    )


def _held_out(pairs, source, references):
    """Read sources, and a list of references for each."""
    if (pairs is None) == (source is None) or (source is None) != (not references):
        raise ValueError(
            "Either --pairs, or --source with one --reference or more must be given."
        )
    start_backend()
    if pairs is not None:
        from keras_transformer.text.pairs import read_pairs

        reader = read_pairs(pairs)
        read = list(reader)
        if reader.dropped:
            logger.warning("%d pairs with a blank side are left out.", reader.dropped)
        return [one for one, _ in read], [[other] for _, other in read]
    sources = list(lines_of(source))
    sides = [list(lines_of(file)) for file in references]
    for file, side in zip(references, sides, strict=True):
        if len(side) != len(sources):
            raise ValueError(
                f"{file} must have as many lines as {source}, {len(sources)}. "
                f"Received: {len(side)}."
            )
    return sources, [list(answers) for answers in zip(*sides, strict=True)]


def add_to(app):
    """Add the command to an app."""
    add_command(app, evaluate, examples=EXAMPLES)
