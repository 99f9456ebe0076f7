"""The page as text; what it does in a browser is in test_attention_viewer.py."""

import html
import json
import re

import pytest

from keras_transformer.visualization import attention_data, attention_html
from tests.visualization.some_maps import some_maps

pytestmark = pytest.mark.tensorflow_only
DATA = re.compile(r'<script type="application/json" id="attention-data">(.*?)</script>')


def test_the_page_holds_the_data():
    maps = some_maps()
    assert json.loads(DATA.search(attention_html(maps))[1]) == attention_data(maps)


def test_the_page_asks_for_no_other_file():
    page = attention_html(some_maps())
    assert not re.findall(
        r"https?:|@import|url\(|<script [^>]*src|<link [^>]*style", page
    )
    assert "default-src 'none'" in page


def test_tokens_and_title_are_no_markup():
    nasty = ["</script><img src=x onerror=alert(1)>", "<!--", "&amp;", "]]>", "\u2028"]
    title = '<b>bold</b> & "more"'
    page = attention_html(some_maps(nasty, nasty), title=title)
    assert page.count("</script>") == page.count("<script") == 2
    assert "<img" not in page
    assert "<!--" not in page
    assert "<b>" not in page
    assert page.count(html.escape(title)) == 2
    data = json.loads(DATA.search(page)[1])
    assert data["source_tokens"] == nasty


def test_tokens_that_utf8_cannot_hold_can_be_written():
    page = attention_html(some_maps(["\ud83d", "{curly}"], ["\udc00"]))
    assert page.encode()  # no error
    assert json.loads(DATA.search(page)[1])["source_tokens"] == ["\ud83d", "{curly}"]


def test_the_title_has_a_default():
    assert "<title>Attention maps</title>" in attention_html(some_maps())


def test_notebooks_show_the_page_in_a_frame():
    maps = some_maps()
    frame = maps._repr_html_()
    page = re.fullmatch(r'<iframe [^>]*srcdoc="([^"]*)"[^>]*></iframe>', frame)[1]
    assert html.unescape(page) == attention_html(maps)


def test_notebooks_say_where_a_large_page_is_to_be_had(monkeypatch):
    monkeypatch.setattr(
        "keras_transformer.visualization.attention_maps.LARGEST_PAGE", 10_000
    )
    text = some_maps()._repr_html_()
    assert text.startswith("<p>AttentionMaps(encoder: (2, 3, 4, 4)")
    assert "attention_html" in text
