"""Every public name is on a page of the reference."""

import importlib
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import keras_transformer

ROOT = Path(__file__).parents[1]
PACKAGES = sorted(
    file.parent.name
    for file in Path(keras_transformer.__file__).parent.glob("*/__init__.py")
    if "__all__" in file.read_text(encoding="utf-8")
    and file.parent.name != "cli"  # has docs/command-line.md
)

pytestmark = pytest.mark.tensorflow_only  # nothing here depends on a backend


def directives():
    """Give all that the pages of the reference say is to be rendered."""
    for page in ROOT.glob("docs/reference/*.md"):
        yield from re.findall(r"^::: ([\w.]+)$", page.read_text(encoding="utf-8"), re.M)


def qualified_names(package, name):
    """Give the names by which a page may ask for an object of a package."""
    module = importlib.import_module(f"keras_transformer.{package}")
    thing = getattr(module, name)
    names = {f"{module.__name__}.{name}"}
    if inspect.ismodule(thing):
        return names | {thing.__name__}
    if hasattr(thing, "__module__"):
        return names | {f"{thing.__module__}.{name}"}
    modules = filter(inspect.ismodule, vars(module).values())
    return names | {f"{m.__name__}.{name}" for m in modules if name in vars(m)}


def is_rendered_with_its_package(package, name):
    """Whether a page of the whole package shows the name.

    It shows classes and functions that have a docstring, unless a module of the package
    has the same name.
    """
    module = importlib.import_module(f"keras_transformer.{package}")
    thing = getattr(module, name)
    is_module = importlib.util.find_spec(f"{module.__name__}.{name}") is not None
    is_code = inspect.isclass(thing) or inspect.isfunction(thing)
    return is_code and bool(thing.__doc__) and not is_module


@pytest.mark.parametrize("package", PACKAGES)
def test_names_of_a_package_are_on_a_page(package):
    shown = set(directives())
    whole = f"keras_transformer.{package}" in shown
    names = importlib.import_module(f"keras_transformer.{package}").__all__
    missing = [
        name
        for name in names
        if not (whole and is_rendered_with_its_package(package, name))
        and not qualified_names(package, name) & shown
    ]
    assert missing == []


def test_packages_are_found():
    assert {"attention", "layers", "models", "training"} <= set(PACKAGES)


def test_names_at_the_top_come_from_a_package_or_have_a_page():
    of_packages = {
        name
        for package in PACKAGES
        for name in importlib.import_module(f"keras_transformer.{package}").__all__
    }
    rest = sorted(set(keras_transformer.__all__) - of_packages)
    assert rest == ["Translator"]
    assert "keras_transformer.translator" in set(directives())


def test_what_is_to_be_rendered_exists():
    for name in directives():
        path, _, last = name.rpartition(".")
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            assert hasattr(importlib.import_module(path), last), name
