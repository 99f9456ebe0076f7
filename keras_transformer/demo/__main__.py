"""Serve a translator's page: `python -m keras_transformer.demo MODEL.translator`."""

import argparse
import sys

from keras_transformer.demo.server import serve_demo
from keras_transformer.translator import Translator


def main():
    """Serve until Ctrl+C; the exit code is 2 if that cannot be."""
    parser = argparse.ArgumentParser(
        prog="python -m keras_transformer.demo",
        description="Serve a local page to try a translator on.",
    )
    parser.add_argument("model", help="a file that Translator.save wrote")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at")
    parser.add_argument("--port", default=7860, type=int, help="0 takes a free one")
    parser.add_argument("--open-browser", action="store_true", help="open the page")
    options = vars(parser.parse_args())
    try:
        serve_demo(Translator.load(options.pop("model")), **options)
    except (ImportError, OSError, TypeError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
