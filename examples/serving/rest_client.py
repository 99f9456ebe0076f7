"""Translate by a model server's REST interface.

With Python's standard library alone:

    python examples/serving/rest_client.py "Where is the station?" "Thank you."
"""

import argparse
import json
import sys
import urllib.error
import urllib.request


def main():
    """Ask the server, and print a line for each sentence."""
    parser = argparse.ArgumentParser(description="Translate by REST.")
    parser.add_argument("sentences", nargs="+")
    parser.add_argument("--server", default="http://localhost:8501", help="its URL")
    parser.add_argument("--model", default="es")
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds")
    options = parser.parse_args()
    url = f"{options.server}/v1/models/{options.model}:predict"
    try:
        answer = post(url, {"inputs": {"text": options.sentences}}, options.timeout)
    except ServerError as error:
        sys.exit(str(error))
    for translation in answer["outputs"]["translation"]:
        print(translation)


class ServerError(Exception):
    """What went wrong, in a line."""


def post(url, body, timeout):
    """Send JSON and return the JSON of the answer.

    Args:
        url: of the call.
        body: what is sent.
        timeout: seconds to wait for the connection, and for the answer.

    Raises:
        ServerError: if there is no server, no answer in time, or an error in it.
    """
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise ServerError(f"The server refused: {error_of(error)}") from error
    except TimeoutError as error:
        raise ServerError(f"No answer from {url} in {timeout} s.") from error
    except OSError as error:
        reason = getattr(error, "reason", error)
        raise ServerError(f"No server at {url}: {reason}") from error


def error_of(response):
    """Return the server's own words, if it has any."""
    text = response.read().decode(errors="replace")
    try:
        return json.loads(text)["error"]
    except (ValueError, KeyError, TypeError):
        return f"{response.code} {text[:200]}"


if __name__ == "__main__":
    main()
