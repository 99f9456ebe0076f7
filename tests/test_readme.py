"""The Python code blocks of README and docs run, a page's in order, in one namespace.

A block that is not meant to run has `<!-- skip-test: reason -->` in the line above
its fence.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md",
    "docs/attention-maps.md",
    "docs/decoding.md",
    "docs/family.md",
    "docs/training.md",
]
BLOCK = re.compile(
    r"(?P<skip><!-- skip-test: (?P<reason>[^\n]+?) -->\n)?"
    r"^```python\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


def python_blocks(text):
    """List (first line of the code, code) of each block that is to be run."""
    return [
        (text.count("\n", 0, block.start("code")) + 1, block["code"])
        for block in BLOCK.finditer(text)
        if block["skip"] is None
    ]


def test_blocks_are_found_and_skipped_ones_left_out():
    text = (
        "# Title\n```python\nx = 1\n```\n"
        "<!-- skip-test: takes an hour -->\n```python\nx = 2\n```\n"
        "```sh\nls\n```\n```python\nx = 3\n```\n"
    )
    assert python_blocks(text) == [(3, "x = 1\n"), (13, "x = 3\n")]


@pytest.mark.tensorflow_only
@pytest.mark.parametrize("page", PAGES)
def test_blocks_run(page, tmp_path, monkeypatch):
    page = ROOT / page
    blocks = python_blocks(page.read_text(encoding="utf-8"))
    assert blocks, f"{page} has no Python block to run"
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "page"}
    for line, code in blocks:
        # Blank lines in front make a traceback show the line number of the page.
        source = "\n" * (line - 1) + code
        exec(compile(source, str(page), "exec"), namespace)
