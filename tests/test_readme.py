"""The Python code blocks of README and docs run, a page's in order, in one namespace.

A block that is not meant to run has `<!-- skip-test: reason -->` in the line above
its fence, and one that needs a package that may be missing `<!-- test-needs: name -->`.
"""

import importlib.util
import re
from pathlib import Path

import pytest

from keras_transformer import (
    GreedySearch,
    Transformer,
    Translator,
    corpora,
    train_tokenizer,
)

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"(?:<!-- (?P<mark>skip-test|test-needs): (?P<what>[^\n]+?) -->\n)?"
    r"^(?P<indent> *)```python[^\n]*\n(?P<code>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)


def python_blocks(text):
    """List (first line of the code, code) of each block that is to be run."""
    return [
        (text.count("\n", 0, block.start("code")) + 1, block["code"])
        for block in BLOCK.finditer(text)
        if block["mark"] != "skip-test"
        and (block["mark"] is None or importlib.util.find_spec(block["what"]))
    ]


def pages_with_code():
    for file in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        if python_blocks(file.read_text(encoding="utf-8")):
            yield file.relative_to(ROOT).as_posix()


def saved_translator():
    """Leave what `examples/translate.py` leaves, untrained: a translator, a version.

    The version is the one that the page exports first, since exporting takes a while.
    """
    tokenizer = train_tokenizer(corpora.toy(200).train, vocabulary_size=380)
    model = Transformer(
        380, num_layers=1, hidden_dim=16, num_heads=2, intermediate_dim=32
    )
    translator = Translator(model, tokenizer, search=GreedySearch(), max_length=8)
    translator.save("models/es/model.translator")
    Path("models/es/1").symlink_to("2")


# What a page takes for granted, made in the folder in which its blocks run.
BEFORE = {"docs/serving.md": saved_translator}
# Sections that other tests run: those of export/test_other_runtimes.py.
ELSEWHERE = {"docs/serving.md": "Other runtimes"}


def page_without_what_runs_elsewhere(page):
    """Read a page; the section that is left out leaves as many blank lines."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if page not in ELSEWHERE:
        return text
    section = re.search(rf"^## {ELSEWHERE[page]}\n.*?(?=^## )", text, re.DOTALL | re.M)
    assert section is not None
    return text.replace(section[0], "\n" * section[0].count("\n"))


def test_blocks_are_found_and_skipped_ones_left_out():
    text = (
        "# Title\n```python\nx = 1\n```\n"
        "<!-- skip-test: takes an hour -->\n```python\nx = 2\n```\n"
        "```sh\nls\n```\n```python\nx = 3\n```\n"
        "<!-- test-needs: no_such_package -->\n```python\nx = 4\n```\n"
        "<!-- test-needs: json -->\n```python\nx = 5\n```\n"
    )
    assert python_blocks(text) == [(3, "x = 1\n"), (13, "x = 3\n"), (21, "x = 5\n")]


def test_pages_are_found():
    pages = set(pages_with_code())
    assert {
        "README.md",
        "docs/index.md",
        "docs/extend.md",
        "docs/migrating.md",
    } <= pages
    assert "docs/recipes.md" not in pages  # has commands only


@pytest.mark.tensorflow_only
@pytest.mark.parametrize("page", sorted(pages_with_code()))
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    BEFORE.get(page, lambda: None)()
    namespace = {"__name__": "page"}
    for line, code in python_blocks(page_without_what_runs_elsewhere(page)):
        # Blank lines in front make a traceback show the line number of the page.
        source = "\n" * (line - 1) + code
        exec(compile(source, str(ROOT / page), "exec"), namespace)
