"""Serve the page on this machine."""

import errno
import importlib
import ipaddress
import logging
import socket
import sys
import webbrowser

from keras_transformer.demo.page_app import (
    EXAMPLES,
    LOOPBACK_NAMES,
    demo_app,
    require_extra,
)

logger = logging.getLogger(__name__)


def serve_demo(
    translator,
    *,
    host="127.0.0.1",
    port=7860,
    max_characters=1000,
    title=None,
    examples=EXAMPLES,
    open_browser=False,
):
    """Serve a page to try a translator on, until Ctrl+C.

    A person types, and sees the translation, the best few with their scores, and the
    attention between the two sentences. The page is meant for this machine: it has no
    passwords, no encryption and one queue for everybody.

    Args:
        translator: a `Translator`.
        host: address to listen at. Another than the loopback lets others in, and is
            warned of.
        port: port to listen at; 0 takes a free one.
        max_characters: length of the longest text.
        title: heading of the page.
        examples: sentences to choose from, in the language that the model reads.
        open_browser: whether to open the page in a browser.

    Raises:
        ImportError: without the extra `demo`.
        OSError: if the port is taken, or the host is not this machine's.
        TypeError: for an argument of another type.
        ValueError: for a port outside 0 to 65535, or a `max_characters` below 1.
    """
    require_extra()
    _check_address(host, port)
    app = demo_app(
        translator,
        max_characters=max_characters,
        title=title,
        examples=examples,
        hosts=LOOPBACK_NAMES if is_loopback(host) else ["*"],
    )
    uvicorn = importlib.import_module("uvicorn")
    config = uvicorn.Config(
        app,
        log_config=None,  # the logging of this process is not ours to set up
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    with _listen(host, port) as listener:
        url = _address(host, listener.getsockname()[1])
        if not is_loopback(host):
            logger.warning(
                "host=%r: everyone who reaches this machine can use the page, without "
                "password and encryption.",
                host,
            )
        sys.stdout.write(f"The demo is at {url} (Ctrl+C ends it)\n")
        sys.stdout.flush()
        if open_browser:
            webbrowser.open(url)
        try:
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:
            sys.stdout.write("\n")


def is_loopback(host):
    """Whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_address(host, port):
    if not isinstance(host, str) or not host:
        raise TypeError(f"`host` must be a name or an address. Received: {host!r}.")
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port < 2**16:
        raise ValueError(f"`port` must be from 0 to 65535. Received: {port!r}.")


def _listen(host, port):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        reason = "it is taken. Choose another `port`" if taken else error.strerror
        raise OSError(f"Cannot listen at port {port} of {host}: {reason}.") from error


def _address(host, port):
    if host in ("0.0.0.0", "::"):
        host = "localhost"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
