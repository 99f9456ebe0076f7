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

    Examples:
        >>> from keras_transformer import Transformer, Translator
        >>> from keras_transformer import corpora, train_tokenizer
        >>> tokenizer = train_tokenizer(corpora.toy(200).train, vocabulary_size=380)
        >>> model = Transformer(380, num_layers=1, hidden_dim=16, num_heads=2,
        ...                     intermediate_dim=32)
        >>> app = demo_app(Translator(model, tokenizer), title="Toy")
        >>> sorted(one.path for one in app.routes if one.path.startswith("/api"))
        ['/api/attention', '/api/info', '/api/translate']
    """
    if not isinstance(translator, Translator):
        raise TypeError(
            f"`translator` must be a `Translator`. Received: {translator!r}."
        )
    if not (title is None or isinstance(title, str)):
        raise TypeError(f"`title` must be a string. Received: {title!r}.")
    max_characters = check_positive_integer("max_characters", max_characters)
    page = {
        "title": title or "Translate",
        "examples": _strings("examples", examples),
        "max_characters": max_characters,
    }
    hosts = _strings("hosts", hosts)
    require_extra()
    routes = importlib.import_module("keras_transformer.demo.routes")
    return routes.application(TranslationService(translator), Worker(), page, hosts)


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


def _strings(name, value):
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return list(value)
    raise TypeError(f"`{name}` must be a list of strings. Received: {value!r}.")
