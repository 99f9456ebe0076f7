"""Lines of a file or of standard input."""

import sys
from pathlib import Path

STANDARD_INPUT = Path("-")


def lines_of(path):
    """Yield the lines of a UTF-8 file, each as soon as it is there.

    Only LF and CRLF end a line. A file whose name ends in `.gz` is decompressed.

    Args:
        path: a file, or `None` or `-` for standard input.

    Raises:
        ValueError: for a line that is not UTF-8.
    """
    from keras_transformer.text.lines import decode_lines, read_lines

    if path is None or path == STANDARD_INPUT:
        if sys.stdin is None:
            raise ValueError("Standard input must be open. Received: a closed one.")
        return decode_lines(iter(sys.stdin.buffer.readline, b""), "standard input")
    return read_lines(path)
