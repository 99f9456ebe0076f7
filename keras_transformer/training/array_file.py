"""A file of arrays that is replaced as a whole."""

import json
import os
from zipfile import BadZipFile

import numpy as np

from keras_transformer.whole_folder import whole_file

DESCRIPTION = "description"


def write_arrays(path, arrays, description):
    """Write arrays and a description, as an `.npz` file without pickles.

    The file is written under another name beside, and renamed once it is complete and
    on the disk: whenever the process is killed, `path` is the old file or the new one.

    Args:
        path: the file's name.
        arrays: a dictionary of NumPy arrays.
        description: what JSON can hold.
    """
    text = np.array(json.dumps(description))
    with whole_file(path) as unfinished, unfinished.open("wb") as file:
        np.savez(file, **{DESCRIPTION: text, **arrays})
        file.flush()
        os.fsync(file.fileno())


def read_arrays(path):
    """Read what `write_arrays` wrote.

    Returns:
        The arrays and the description.

    Raises:
        FileNotFoundError: without such a file.
        ValueError: for another or a damaged file.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        return arrays, json.loads(str(arrays.pop(DESCRIPTION)))
    except (BadZipFile, EOFError, LookupError, TypeError, ValueError) as error:
        raise ValueError(
            f"`path` must be a file of arrays that is whole. Received: {path}: {error}"
        ) from error
