"""The addresses of the page and what they answer."""

import contextlib
import logging

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, StrictInt, StrictStr
from starlette.middleware.trustedhost import TrustedHostMiddleware

from keras_transformer.demo.page_files import page_files
from keras_transformer.demo.request_rules import RequestRules
from keras_transformer.demo.translation_service import NoAttention

logger = logging.getLogger(__name__)


class Text(BaseModel):
    """What to translate: each line is a sentence."""

    text: StrictStr
    n_best: StrictInt | None = None


class SentencePair(BaseModel):
    """A sentence and a translation."""

    source: StrictStr
    target: StrictStr


def application(service, worker, page, hosts):
    """Put routes and rules together.

    Args:
        service: a `TranslationService`.
        worker: the `Worker` that runs its calls.
        page: `{"title", "examples", "max_characters"}`.
        hosts: allowed names of this server, a list.

    Returns:
        A `FastAPI`.
    """

    @contextlib.asynccontextmanager
    async def lifespan(app):
        text = (page["examples"] or ["."])[0]
        worker.submit(_logged, service.warm_up, text)
        yield
        worker.close()

    # FastAPI's own pages of documentation load scripts from elsewhere.
    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    _add_files(app)
    _add_questions(app, service, page)
    _add_work(app, service, worker, page["max_characters"])
    app.add_exception_handler(RequestValidationError, _explain)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)
    # A character takes up to 12 bytes of JSON; a translation may be the longer side.
    app.add_middleware(RequestRules, max_bytes=2**16 + 24 * page["max_characters"])
    return app


def _add_files(app):
    def add(path, content, media_type):
        @app.get(path)
        async def file():
            return Response(content, media_type=media_type)

    for path, content, media_type in page_files():
        add(path, content, media_type)


def _add_questions(app, service, page):
    @app.get("/healthz")
    async def health():
        return {"status": "ok"}

    @app.get("/api/info")
    async def info():
        return {**page, **service.info()}


def _add_work(app, service, worker, max_characters):
    @app.post("/api/translate")
    async def translate(question: Text, request: Request):
        _check_text(question.text, max_characters)
        _check_number(question.n_best, service.largest_n_best)
        # Line by line, so that others get their turn and who has left costs nothing.
        lines = question.text.replace("\r\n", "\n").split("\n")
        return {
            "lines": [
                await _run(
                    worker, request, service.translate_line, line, question.n_best
                )
                for line in lines
            ]
        }

    @app.post("/api/attention")
    async def attention(pair: SentencePair, request: Request):
        _check_text(pair.source, max_characters)
        _check_unicode(pair.target)
        call = service.attention, pair.source, pair.target
        try:
            return await _run(worker, request, *call)
        except NoAttention as error:
            raise HTTPException(422, str(error)) from error


async def _run(worker, request, function, *arguments):
    async def left():
        while (await request.receive())["type"] != "http.disconnect":
            pass

    try:
        return await worker.run(left, function, *arguments)
    except ConnectionAbortedError as error:
        raise HTTPException(499, "The caller has left.") from error
    except BlockingIOError as error:
        detail = "Too many requests are waiting. Try again in a moment."
        raise HTTPException(503, detail) from error
    except NoAttention:
        raise
    except Exception as error:
        logger.exception("The translator failed.")
        detail = "The translator failed. What happened stands in the server's log."
        raise HTTPException(500, detail) from error


def _check_text(text, most):
    if len(text) > most:
        raise HTTPException(
            422, f"The text has {len(text):,} characters. At most {most:,} are allowed."
        )
    _check_unicode(text)


def _check_unicode(text):
    try:
        text.encode()
    except UnicodeEncodeError as error:
        detail = "The text holds half of a character, a lone surrogate."
        raise HTTPException(422, detail) from error


def _check_number(n_best, most):
    if n_best is not None and not 1 <= n_best <= most:
        detail = f"`n_best` must be from 1 to {most}. Received: {n_best}."
        raise HTTPException(422, detail)


async def _explain(request, error):
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    detail = f"The request is not as it must be: {place}: {first['msg']}."
    return JSONResponse({"detail": detail}, status_code=422)


def _logged(function, *arguments):
    try:
        function(*arguments)
    except Exception:
        logger.exception("Warming up failed.")
