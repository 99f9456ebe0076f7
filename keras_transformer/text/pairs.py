"""Reading sentence pairs from files."""

from collections.abc import Sequence
from os import PathLike

from keras_transformer.text.pair_reader import PairReader


def read_pairs(
    path: str | PathLike[str],
    target_path: str | PathLike[str] | None = None,
    *,
    columns: Sequence[int] = (0, 1),
) -> PairReader:
    r"""Reads sentence pairs from a tab-separated file or from two parallel files.

    Files whose name ends in `.gz` are decompressed while they are read.

    Args:
        path: A tab-separated file or, with `target_path`, the source sentences.
        target_path: The target sentences, line by line beside those of `path`.
        columns: Numbers of the source and target columns of a tab-separated
            file, counted from 0; `(1, 0)` swaps the languages.

    Returns:
        A `PairReader`: iterate over it, as often as you like, for
        `(source, target)` strings; `dropped` counts the pairs with a blank side.

    Raises:
        FileNotFoundError: A file that does not exist.
        ValueError: See `PairReader`.

    Examples:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "pairs.tsv")
        >>> _ = path.write_bytes("Go.\tVe.\nRun!\tCorre!\n".encode())
        >>> list(read_pairs(path, columns=(1, 0)))
        [('Ve.', 'Go.'), ('Corre!', 'Run!')]
    """
    return PairReader(path, target_path, columns=columns)
