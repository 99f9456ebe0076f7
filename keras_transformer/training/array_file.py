"""A file of arrays that is replaced as a whole."""

import json
import os
from pathlib import Path

import numpy as np

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
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = np.array(json.dumps(description))
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with unfinished.open("wb") as file:
            np.savez(file, **{DESCRIPTION: text, **arrays})
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def read_arrays(path):
    """Read what `write_arrays` wrote.

    Returns:
        The arrays and the description.
    """
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    return arrays, json.loads(str(arrays.pop(DESCRIPTION)))
