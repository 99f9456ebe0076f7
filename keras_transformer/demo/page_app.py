"""The page as an application, to run in any ASGI server."""

import importlib

from keras_transformer.argument_checks import check_positive_integer
from keras_transformer.demo.translation_service import TranslationService
from keras_transformer.demo.worker import Worker
from keras_transformer.translator import Translator

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
EXAMPLES = (
    "Where is the station?",
    "A man is riding a bicycle.",
    "Two children are playing in the garden.",
)


def demo_app(
    translator,
    *,
    max_characters=1000,
    title=None,
    examples=EXAMPLES,
    hosts=LOOPBACK_NAMES,
):
    """Make the page's application, without a server.

    Besides the page and its files it answers `GET /healthz`, `GET /api/info`,
    `POST /api/translate` of `{"text", "n_best"}` and `POST /api/attention` of
    `{"source", "target"}`. An error is `{"detail": "a sentence"}`.

    Args:
        translator: a `Translator`.
        max_characters: length of the longest text, in code points.
        title: heading of the page.
        examples: sentences to choose from, in the language that the model reads.
        hosts: names by which the page is asked for; requests with another `Host` are
            refused, so that no page of another site can reach this one through a name
            that is made to point here. `["*"]` allows any.

    Returns:
        A `fastapi.FastAPI`.

    Raises:
        ImportError: without the extra `demo`.
        TypeError: for an argument of another type.
        ValueError: for a `max_characters` below 1.
    """
    if not isinstance(translator, Translator):
        raise TypeError(
            f"`translator` must be a `Translator`. Received: {translator!r}."
        )
    if not (title is None or isinstance(title, str)):
        raise TypeError(f"`title` must be a string. Received: {title!r}.")
    _check_strings("examples", examples)
    _check_strings("hosts", hosts)
    max_characters = check_positive_integer("max_characters", max_characters)
    require_extra()
    routes = importlib.import_module("keras_transformer.demo.routes")
    page = {
        "title": title or "Translate",
        "examples": list(examples),
        "max_characters": max_characters,
    }
    return routes.application(
        TranslationService(translator), Worker(), page, list(hosts)
    )


def require_extra():
    """Raise `ImportError` without FastAPI and uvicorn."""
    try:
        importlib.import_module("fastapi")
        importlib.import_module("uvicorn")
    except ImportError as error:
        raise ImportError(
            "The demo page needs fastapi and uvicorn: "
            "pip install 'keras-transformer-layers[demo]'"
        ) from error


def _check_strings(name, value):
    if isinstance(value, str) or not all(isinstance(item, str) for item in value):
        raise TypeError(f"`{name}` must be a list of strings. Received: {value!r}.")
