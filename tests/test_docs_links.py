"""Links, anchors and images of README and docs lead somewhere.

The strict build of the docs checks what lies in docs/. This checks the pages of the
repository's root too, and that no page of the docs leads out of them.
"""

import re
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.glob("**/*.md"))]
CODE = re.compile(r"^( *)(```|~~~).*?^\1\2|`[^`\n]+`", re.DOTALL | re.MULTILINE)
LINK = re.compile(
    r"\]\(\s*<?([^)\s>]+)>?\s*\)|<(?:img|a)\b[^>]*\b(?:src|href)=\"([^\"]+)\""
)
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)

pytestmark = pytest.mark.tensorflow_only  # nothing here depends on a backend


def links_of(text):
    """List what a page's links and images point to; code is no link."""
    found = LINK.findall(CODE.sub("", text))
    return [markdown or html for markdown, html in found]


def anchor_of(heading, *, on_site):
    """Give a heading's anchor, as the docs' site or GitHub makes it."""
    words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    if on_site:
        words = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode()
    words = re.sub(r"[^\w\s-]", "", words).strip().lower()
    return re.sub(r"[-\s]+", "-", words) if on_site else words.replace(" ", "-")


def anchors_of(text, *, on_site):
    """Give the anchors of a page, of which those of equal headings are numbered."""
    text = re.sub(r"^( *)(```|~~~).*?^\1\2", "", text, flags=re.DOTALL | re.MULTILINE)
    anchors = Counter(
        anchor_of(heading, on_site=on_site) for heading in HEADING.findall(text)
    )
    join = "_" if on_site else "-"
    again = {f"{x}{join}{i}" for x, count in anchors.items() for i in range(1, count)}
    return {*anchors, *again}


def problem(page, link):
    """Say what is wrong with a link from a page, or nothing."""
    if re.match(r"[a-z]+:", link):
        return None
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return f"no file {path}"
    on_site = page.is_relative_to(DOCS)
    if on_site and not target.is_relative_to(DOCS):
        return f"{path} is not in docs/, and so not on the site"
    if anchor and anchor not in anchors_of(
        target.read_text(encoding="utf-8"), on_site=on_site
    ):
        return f"no heading for #{anchor}"
    return None


def test_links_are_found_outside_of_code_only():
    text = (
        "[a](one.md) ![b](two.svg)\n`[c](no.md)`\n```md\n[d](no.md)\n```\n"
        '<img src="three.png" alt="x">\n[e\nf](four.md#part)\n'
    )
    assert links_of(text) == ["one.md", "two.svg", "three.png", "four.md#part"]


def test_anchors_are_those_of_the_site_and_of_github():
    text = "# `A` b: √d_k, *c*\n## Same\n## Same\n```\n# no heading\n```\n"
    site = {"a-b-d_k-c", "same", "same_1"}
    assert anchors_of(text, on_site=True) == site
    github = {"a-b-d_k-c", "same", "same-1"}
    assert anchors_of(text, on_site=False) == github


def test_what_is_wrong_is_told():
    page = DOCS / "index.md"
    assert problem(page, "story.md#before") is None
    assert problem(page, "https://example.org/#nothing") is None
    assert problem(page, "nothing.md") == "no file nothing.md"
    assert problem(page, "story.md#nothing") == "no heading for #nothing"
    assert "not on the site" in problem(page, "../README.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    links = links_of(page.read_text(encoding="utf-8"))
    wrong = [f"{link}: {what}" for link in links if (what := problem(page, link))]
    assert wrong == []


def test_all_pages_and_pictures_are_reached():
    reached = set()
    for page in PAGES:
        for link in links_of(page.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:", link):
                reached.add((page.parent / link.partition("#")[0]).resolve())
    there = {*DOCS.glob("**/*.md"), *DOCS.glob("images/**/*.svg")}
    assert sorted(there - reached - {DOCS / "index.md"}) == []


def test_all_pages_are_in_the_navigation():
    nav = set(re.findall(r'= "([\w/-]+\.md)"', (ROOT / "zensical.toml").read_text()))
    assert nav == {page.relative_to(DOCS).as_posix() for page in DOCS.glob("**/*.md")}


def test_each_experiment_is_linked_from_the_story():
    story = links_of((DOCS / "story.md").read_text(encoding="utf-8"))
    experiments = (DOCS / "experiments.md").read_text(encoding="utf-8")
    sections = anchors_of(experiments, on_site=True) - {"experiments"}
    assert {f"experiments.md#{section}" for section in sections} - set(story) == set()
