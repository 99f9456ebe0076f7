"""Reading the lines of a UTF-8 file without losing or inventing any."""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_lines(path: Path) -> Iterator[str]:
    r"""Yields the lines of a UTF-8 file, one in memory at a time.

    Only LF and CRLF end a line. Other characters which `str.splitlines` breaks
    at (U+2028, U+0085, form feed, a lone CR) stay inside the line.

    Args:
        path: The file; it is decompressed where its name ends in `.gz`.

    Yields:
        The lines without their ends; a byte order mark at the start is removed.

    Raises:
        ValueError: A line is not UTF-8, or the file is not whole gzip data.
    """
    number = 0
    try:
        with _open(path) as file:
            for line in decode_lines(file, path):
                number += 1
                yield line
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(
            f"`{path}` must be a whole gzip file. Received after line {number}: "
            f"{error}."
        ) from error


def decode_lines(file: Iterable[bytes], name: object) -> Iterator[str]:
    """Yields the lines of an open binary file as `read_lines` does.

    Args:
        file: A binary file, or other lines of bytes.
        name: What the file is called in errors.

    Yields:
        The lines without their ends, each as soon as it has been read.

    Raises:
        ValueError: A line is not UTF-8.
    """
    for number, line in enumerate(file, start=1):
        yield _decode(line, name, number)


def _open(path: Path):
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def _decode(line: bytes, name: object, number: int) -> str:
    line = line.removesuffix(b"\n").removesuffix(b"\r")
    if number == 1:
        line = line.removeprefix(BYTE_ORDER_MARK)
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"`{name}` must be UTF-8. Received in line {number}: byte "
            f"0x{line[error.start]:02X} at position {error.start} ({error.reason})."
        ) from error
