"""A saved translator, and the command line in this process."""

import functools
import io
import sys

import keras
import pytest

from keras_transformer import Translator
from keras_transformer.cli import main
from tests.backends import searches_without_xla
from tests.translators import small_translator


@pytest.fixture(scope="module", autouse=True)
def quick_searches():
    with searches_without_xla():
        yield


@pytest.fixture(scope="module", autouse=True)
def translators_that_are_loaded_once():
    """A file is read, and its search compiled, once for each module and content."""
    load = Translator.load
    loaded = functools.cache(lambda path, changed: load(path))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Translator, "load", lambda path: loaded(path, path.stat().st_mtime_ns)
        )
        yield


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    keras.utils.set_random_seed(5)
    path = tmp_path_factory.mktemp("saved") / "model.translator"
    small_translator(max_source_length=32).save(path)
    return path


@pytest.fixture
def call(capsysbinary, monkeypatch):
    """Run a command, and return its exit code, output and errors."""

    def call(*arguments, given=b""):
        stdin = None if given is None else io.TextIOWrapper(io.BytesIO(given))
        monkeypatch.setattr(sys, "stdin", stdin)
        capsysbinary.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsysbinary.readouterr()
        lines = captured.err.decode().splitlines(keepends=True)
        # An untrained model goes on until its translations are cut.
        errors = "".join(line for line in lines if "translations were cut" not in line)
        return code, captured.out.decode(), errors

    return call
