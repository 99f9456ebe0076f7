"""What holds for every request and response of the page."""

import json

HEADERS = {
    # The page's own files and nothing else: no script or style in the markup, and no
    # string that becomes markup.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}


class RequestRules:
    """An ASGI application around another: bounds what comes in, adds headers.

    A body needs a `content-length`, which a server holds it to, so that a body that is
    too large is refused before it is read.

    Args:
        app: the ASGI application.
        max_bytes: size of the largest body.
    """

    def __init__(self, app, max_bytes):
        self.app = app
        self.max_bytes = max_bytes

    async def __call__(self, scope, receive, send):
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message):
            if message["type"] == "http.response.start":
                own = [(key.encode(), value.encode()) for key, value in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *own]}
            await send(message)

        status, reason = self._refusal(dict(scope["headers"]))
        if status:
            await _answer(send_with_headers, status, reason)
        else:
            await self.app(scope, receive, send_with_headers)

    def _refusal(self, headers):
        if b"transfer-encoding" in headers:
            return 411, "A request must say its length."
        length = headers.get(b"content-length", b"0")
        if not length.isdigit():
            return 400, "The length of a request must be a number."
        if int(length) > self.max_bytes:
            return 413, (
                f"A request may have at most {self.max_bytes:,} bytes. "
                f"Received: {int(length):,}."
            )
        return None, None


async def _answer(send, status, reason):
    body = json.dumps({"detail": reason}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
