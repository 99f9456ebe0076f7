"""A setting of a run: an option of the command line and a key of its file."""

import dataclasses
import math
from pathlib import Path
from typing import Any


def setting(default, panel, help, *, metavar=None, choices=None, at_least=None):
    """Return a dataclass field that is an option too.

    Args:
        default: its value if not given.
        panel: heading under which `--help` lists it.
        help: what it does.
        metavar: what stands for its value in `--help`.
        choices: the strings that it may be.
        at_least: smallest number that it may be.
    """
    return dataclasses.field(
        default=default,
        metadata={
            "panel": panel,
            "help": help,
            "metavar": metavar,
            "choices": choices,
            "at_least": at_least,
        },
    )


def kind_of(field) -> Any:
    """Return the type of a setting: `str`, `int`, `float`, `bool` or `Path`."""
    return next(
        kind
        for kind in (str, int, float, bool, Path)
        if field.type in (kind, kind | None)
    )


def checked_value(field, value: Any) -> Any:
    """Return a value as the type of its setting, or raise an error that names it.

    Args:
        field: the dataclass field.
        value: what a person or a file gave.
    """
    kind = kind_of(field)
    name = field.name
    if value is None and field.type == kind | None:
        return None
    if kind is float and isinstance(value, str):
        value = _number(value)  # YAML reads 1e-3 as a string
    fits = isinstance(value, (int, float) if kind is float else kind)
    if kind is Path:
        fits = isinstance(value, (str, Path))
    if not fits or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"`{name}` must be {_WORDS[kind]}. Received: {value!r}.")
    return kind(value)  # pyright: ignore[reportArgumentType]


def check_range(field, value):
    """Raise an error that names a setting whose value is out of its range."""
    choices, least = field.metadata["choices"], field.metadata["at_least"]
    if choices and value not in choices:
        allowed = ", ".join(choices)
        raise ValueError(f"`{field.name}` must be one of {allowed}. Received: {value}.")
    if value is None:
        return
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"`{field.name}` must be finite. Received: {value}.")
    if least is not None and value < least:
        raise ValueError(f"`{field.name}` must be at least {least}. Received: {value}.")


def _number(text):
    try:
        return float(text)
    except ValueError:
        return text


_WORDS = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    Path: "a file name",
}
