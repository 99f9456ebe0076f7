"""Folders that appear whole or not at all."""

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_folder(path):
    """Make a folder under another name, and rename it once it is complete.

    Use: `with whole_folder("models/es/1") as folder: ...`, writing into `folder`. An
    error inside removes what was written. Folders above `path` are made.

    Args:
        path: the folder's name in the end.

    Yields:
        The unfinished folder, next to `path`, as a `pathlib.Path`.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # A name that is no number is no version to a model server.
    unfinished = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        yield unfinished
        unfinished.chmod(0o755)  # a server may run as another user
        unfinished.rename(path)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
