"""A re-iterable stream of sentence pairs from files."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from os import PathLike
from pathlib import Path

from keras_transformer.text.lines import read_lines


class PairReader:
    r"""Streams `(source, target)` pairs of a tab-separated file or of two files.

    Each iteration reads from the start and holds one line of each file in
    memory. Only LF and CRLF end a line; quotes have no meaning; a pair with a
    blank side is dropped and counted. The text is given as it stands in the
    file: nothing is stripped or normalised.

    Args:
        path: A tab-separated file or, with `target_path`, the source sentences.
        target_path: The target sentences, line by line beside those of `path`.
        columns: Numbers of the source and target columns of a tab-separated
            file, counted from 0.

    Raises:
        FileNotFoundError: At construction, a file that does not exist.
        ValueError: At construction, a folder or `columns` that are not two
            numbers. While reading, invalid UTF-8 or too few columns (both with
            the line), or two files of unequal length (with both counts; known
            only at the end of the shorter file, so after its pairs were given).

    Examples:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "pairs.tsv")
        >>> _ = path.write_bytes("Go.\tVe.\r\n\tNada.\r\n".encode())
        >>> reader = PairReader(path)
        >>> list(reader), reader.dropped
        ([('Go.', 'Ve.')], 1)
    """

    def __init__(
        self,
        path: str | PathLike[str],
        target_path: str | PathLike[str] | None = None,
        *,
        columns: Sequence[int] = (0, 1),
    ):
        self.path = _existing_file("path", path)
        self.target_path = (
            None if target_path is None else _existing_file("target_path", target_path)
        )
        self.columns = _checked_columns(columns)
        if target_path is not None and self.columns != (0, 1):
            raise ValueError(
                "`columns` must be left out where `target_path` is given. "
                f"Received: {columns!r}."
            )
        self._dropped = 0

    @property
    def dropped(self) -> int:
        """Number of pairs that the latest iteration has dropped so far."""
        return self._dropped

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yields the pairs from the start of the file or files."""
        self._dropped = 0
        pairs = (
            self._columns()
            if self.target_path is None
            else self._parallel(self.target_path)
        )
        for source, target in pairs:
            if source.strip() and target.strip():
                yield source, target
            else:
                self._dropped += 1

    def __repr__(self) -> str:
        """Names the files that are read."""
        names = [str(self.path)]
        if self.target_path is not None:
            names.append(str(self.target_path))
        return f"PairReader({', '.join(map(repr, names))})"

    def _columns(self) -> Iterator[tuple[str, str]]:
        needed = max(self.columns) + 1
        for number, line in enumerate(read_lines(self.path), start=1):
            fields = line.split("\t")
            if len(fields) >= needed:
                yield fields[self.columns[0]], fields[self.columns[1]]
            elif line.strip():
                raise ValueError(
                    f"`{self.path}` must have at least {needed} tab-separated "
                    f"columns in each line. Received in line {number}: {len(fields)}."
                )
            else:
                yield "", ""

    def _parallel(self, target_path: Path) -> Iterator[tuple[str, str]]:
        counts = [0, 0]
        for pair in zip_longest(read_lines(self.path), read_lines(target_path)):
            counts = [
                count + (side is not None)
                for count, side in zip(counts, pair, strict=True)
            ]
            if counts[0] == counts[1]:
                yield pair
        if counts[0] != counts[1]:
            raise ValueError(
                "`path` and `target_path` must have as many lines as each other. "
                f"Received: {counts[0]} lines in `{self.path}` and {counts[1]} "
                f"lines in `{target_path}`."
            )


def _existing_file(name: str, path: str | PathLike[str]) -> Path:
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(
            f"`{name}` must be an existing file. Received: {str(path)!r}."
        )
    if path.is_dir():
        raise ValueError(f"`{name}` must be a file. Received a folder: {str(path)!r}.")
    return path


def _checked_columns(columns: Sequence[int]) -> tuple[int, int]:
    numbers = tuple(columns)
    valid = all(type(number) is int and number >= 0 for number in numbers)
    if len(numbers) != 2 or not valid:
        raise ValueError(
            "`columns` must be two column numbers counted from 0. "
            f"Received: {columns!r}."
        )
    return numbers
