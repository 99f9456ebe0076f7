"""The examples in the docstrings give what they say.

They are written for the default backend, since each backend prints tensors in its
own way.
"""

import doctest
import importlib
import pkgutil

import pytest

import keras_transformer

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def documented_objects():
    modules = pkgutil.walk_packages(keras_transformer.__path__, "keras_transformer.")
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in ["keras_transformer", *(module.name for module in modules)]:
        for example in finder.find(importlib.import_module(name)):
            if example.examples:
                yield pytest.param(example, id=example.name)


@pytest.mark.tensorflow_only
@pytest.mark.parametrize("example", list(documented_objects()))
def test_docstring_example(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    outcome = runner.run(example, out=report.append)
    assert outcome.attempted > 0
    assert outcome.failed == 0, "".join(report)
