"""The folder of a training run, and the settings in it."""

import dataclasses
import fcntl
import os
from contextlib import contextmanager
from pathlib import Path

import yaml

import keras_transformer
from keras_transformer.cli.train_settings import FREE, TrainSettings
from keras_transformer.whole_folder import whole_file

SETTINGS = "run.yaml"
TOKENIZER = "tokenizer.spm"
BACKUP = "backup"
HEAD = """\
# Written by keras-transformer {version}. To go on with this run or to repeat it:
#   keras-transformer train --config {file}
#   keras-transformer train --config {file} --output ANOTHER
"""


def read_settings(file):
    """Read settings from a YAML file.

    Returns:
        A dictionary of the settings that stand in it.

    Raises:
        ValueError: for what is no YAML, or a key that is no setting.
    """
    file = Path(file)
    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} must be YAML. Received: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{file} must hold `key: value` lines. Received: {found!r}.")
    names = [field.name for field in dataclasses.fields(TrainSettings)]
    unknown = [str(key) for key in found if key not in names]
    if unknown:
        raise ValueError(
            f"{file} must hold settings of `train` only. Received: "
            f"{', '.join(unknown)}. Settings are {', '.join(names)}."
        )
    return found


@contextmanager
def held(folder):
    """Keep other processes from training in a folder.

    Raises:
        ValueError: if one does already.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ValueError(
            f"`output` must be a folder in which no other process trains. "
            f"Received: {folder}."
        ) from error
    else:
        yield
    finally:
        os.close(descriptor)


def claim(settings):
    """Write the settings into the folder of a run, unless it has another run.

    Where nothing has been trained yet, other settings take the place of the first, and
    the tokenizer is made anew.

    Args:
        settings: the resolved `TrainSettings`.

    Raises:
        ValueError: if the folder has a run with other settings, or something else.
    """
    file = settings.output / SETTINGS
    if file.exists():
        before = read_settings(file)
        if (settings.output / BACKUP).exists():
            _check_same(before, settings)
        elif before != as_plain(settings):
            (settings.output / TOKENIZER).unlink(missing_ok=True)
    elif settings.output.exists() and any(
        not path.name.startswith(".unfinished.") for path in settings.output.iterdir()
    ):
        raise ValueError(
            f"`output` must be a new folder, an empty one or that of a run. "
            f"Received: {settings.output}, which has no {SETTINGS}."
        )
    text = HEAD.format(version=keras_transformer.__version__, file=file)
    text += yaml.safe_dump(as_plain(settings), sort_keys=False, allow_unicode=True)
    with whole_file(file) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def as_plain(settings):
    """Return settings as YAML can hold them."""
    return {
        name: str(value) if isinstance(value, Path) else value
        for name, value in dataclasses.asdict(settings).items()
    }


def _check_same(before, settings):
    for name, value in as_plain(settings).items():
        if name not in FREE and before.get(name) != value:
            raise ValueError(
                f"{settings.output} has a run with `{name}` {_shown(before.get(name))}."
                f" Received: {_shown(value)}. Give another --output."
            )


def _shown(value):
    return "not given" if value is None else value
