"""The package as a whole: what importing it costs, and what it names."""

import importlib
import importlib.metadata
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import keras
import pytest

import keras_transformer

DISTRIBUTION = "keras-transformer-layers"
INSTALLED = os.environ.get("KERAS_TRANSFORMER_INSTALLED") == "1"

# Keras itself loads some of these when they are installed; what counts is that
# importing this package adds none.
HEAVY_MODULES = [
    "fastapi",
    "keras_hub",
    "matplotlib",
    "sacrebleu",
    "sentencepiece",
    "tensorflow",
    "tensorflow_text",
    "typer",
    "uvicorn",
]

PRINT_ADDED_MODULES = """
import sys
import keras
before = set(sys.modules)
import keras_transformer
print(*sorted(set(sys.modules) - before))
"""


def package_modules():
    modules = pkgutil.walk_packages(keras_transformer.__path__, "keras_transformer.")
    return ["keras_transformer", *(module.name for module in modules)]


def test_importing_the_package_loads_no_heavy_module():
    search_path = str(Path(keras_transformer.__file__).parents[1])
    environment = {
        **os.environ,
        "KERAS_BACKEND": keras.backend.backend(),
        "PYTHONPATH": search_path,
    }
    result = subprocess.run(
        [sys.executable, "-P", "-c", PRINT_ADDED_MODULES],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    added = result.stdout.split()
    assert "keras_transformer" in added
    assert [name for name in HEAVY_MODULES if name in added] == []


def test_public_names_resolve():
    names = keras_transformer.__all__
    assert len(names) == len(set(names))
    missing = [name for name in names if not hasattr(keras_transformer, name)]
    assert missing == []


def test_every_public_name_is_documented():
    undocumented = [
        name
        for name in keras_transformer.__all__
        if callable(value := getattr(keras_transformer, name)) and not value.__doc__
    ]
    assert undocumented == []


@pytest.mark.parametrize("name", package_modules())
def test_module_has_a_docstring(name):
    docstring = importlib.import_module(name).__doc__
    assert docstring is not None
    assert docstring.strip()


@pytest.mark.skipif(not INSTALLED, reason="KERAS_TRANSFORMER_INSTALLED is not 1")
def test_the_installed_package_is_the_one_under_test():
    installed = importlib.metadata.distribution(DISTRIBUTION)
    expected = installed.locate_file("keras_transformer/__init__.py")
    location = Path(keras_transformer.__file__)
    assert "site-packages" in location.parts
    assert location.samefile(str(expected))


@pytest.mark.skipif(not INSTALLED, reason="KERAS_TRANSFORMER_INSTALLED is not 1")
def test_version_is_that_of_the_installed_distribution():
    assert keras_transformer.__version__ == importlib.metadata.version(DISTRIBUTION)


@pytest.mark.skipif(not INSTALLED, reason="KERAS_TRANSFORMER_INSTALLED is not 1")
def test_the_wheel_ships_its_type_marker_and_licence():
    names = [str(path) for path in importlib.metadata.files(DISTRIBUTION) or []]
    assert "keras_transformer/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
