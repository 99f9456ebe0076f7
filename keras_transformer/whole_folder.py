"""Files and folders that appear whole or not at all."""

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


@contextmanager
def whole_file(path):
    """Write a file under another name, and rename it once it is complete.

    Use: `with whole_file("best.weights.h5") as file: ...`, writing to `file`. It takes
    the place of an older one; an error inside removes what was written and leaves that.
    Folders above `path` are made.

    Args:
        path: the file's name in the end.

    Yields:
        The unfinished file's name, next to `path` and with its ending.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".unfinished.{path.name}")
    try:
        yield unfinished
        unfinished.replace(path)
    except BaseException as error:
        unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename is None:
            error.filename = str(path)  # a full disk is reported without a name
        raise
