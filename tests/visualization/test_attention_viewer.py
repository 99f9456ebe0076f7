"""The viewer in a real browser: choosing, pointing, keys, escaping, widths, colours."""

import json
from pathlib import Path

import numpy as np
import pytest

import keras_transformer.visualization as package
from keras_transformer.visualization import attention_data, attention_html
from tests.browser import chromium, needs_chromium, set_screen
from tests.visualization.some_maps import some_maps

pytest.importorskip("selenium.webdriver")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

NASTY = [
    "</script><img src=x onerror='window.broken=1'>",
    "<script>window.broken=2</script>",
    "<b>bold</b>",
    "javascript:alert(1)",
    "a" * 200,
]
pytestmark = [pytest.mark.tensorflow_only, needs_chromium]
ARABIC = ["▁أين", "▁ال", "محطة", "؟"]


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver


class Page:
    """A page of attention maps in the browser."""

    def __init__(self, browser, path):
        self.browser, self.path = browser, path

    def open(self, maps, *, width=1280, dark=False, title=None):
        self.path.write_text(attention_html(maps, title=title), encoding="utf-8")
        set_screen(self.browser, width=width, height=900, dark=dark)
        self.browser.get(self.path.as_uri())
        return self

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def choose(self, group, value):
        self.one(f"input[name$='-{group}'][value='{value}']").click()

    def line(self, side):
        return self.all(".attention-line")[side].find_elements(
            By.CSS_SELECTOR, ".attention-word"
        )

    def hover(self, side, index):
        ActionChains(self.browser).move_to_element(self.line(side)[index]).perform()

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    def chosen(self):
        """Return (side, index) of the word that is marked."""
        words = self.all(".attention-chosen")
        assert len(words) == 1
        return next(
            (side, index)
            for side in (0, 1)
            for index, word in enumerate(self.line(side))
            if word == words[0]
        )

    def weights(self, side):
        """Return what a line's words are shaded by."""
        read = "return arguments[0].style.getPropertyValue('--weight')"
        script = self.browser.execute_script
        return [float(script(read, word)) for word in self.line(side)]

    def settle(self):
        """Wait until what events have begun is done."""
        self.browser.execute_async_script("setTimeout(arguments[0], 50)")

    def said(self):
        return self.one(".attention-said").text

    def errors(self):
        return [entry["message"] for entry in self.browser.get_log("browser")]

    def width(self):
        """Return how wide all of the page is; a phone's window would grow with it."""
        return self.browser.execute_script(
            "return document.documentElement.scrollWidth"
        )


@pytest.fixture
def page(browser, tmp_path):
    page = Page(browser, tmp_path / "page.html")
    yield page
    assert page.errors() == []


def test_the_page_begins_with_the_last_layers_mean_of_the_first_word(page):
    maps = some_maps()
    page.open(maps, title="Zwei & <i>mehr</i>")
    assert page.one("h1").text == "Zwei & <i>mehr</i>"
    assert page.chosen() == (0, 0)
    np.testing.assert_allclose(page.weights(1), maps.cross[1].mean(0)[0], atol=2e-3)
    assert page.said().startswith("Cross, layer 1, mean of heads: “zwei” looks at “")
    assert "does not show why" in page.one(".attention-note").text


@pytest.mark.parametrize("part", ["encoder", "cross", "decoder"])
def test_layer_and_head_are_chosen_and_a_word_pointed_at(page, part):
    maps = some_maps()
    page.open(maps)
    page.choose("part", part)
    page.choose("layer", 0)
    page.choose("head", 2)
    page.hover(0, 3)
    weights = getattr(maps, part)[0, 2]
    np.testing.assert_allclose(page.weights(1), weights[3], atol=1e-3)
    assert page.said().startswith(f"{part.capitalize()}, layer 0, head 2: ")
    page.hover(1, 1)
    assert page.chosen() == (1, 1)
    np.testing.assert_allclose(page.weights(0), weights[:, 1], atol=1e-3)
    assert "is looked at by" in page.said()
    shown = [
        float(word.text.split("\n")[-1])
        for word in page.line(0)
        if word.text.split("\n")[-1].startswith(("0.", "1."))
    ]
    largest = sorted(weights[:, 1][weights[:, 1] >= 0.005])
    np.testing.assert_allclose(sorted(shown), largest, atol=6e-3)


def test_a_word_predicted_is_shown_with_the_one_read_before(page):
    page.open(some_maps())
    texts = [word.text.split("\n")[:2] for word in page.line(0)]
    assert texts[:3] == [["zwei", "<s>"], ["hun", "zwei"], ["de", "hun"]]
    joined = ["attention-joins" in word.get_attribute("class") for word in page.line(0)]
    assert joined == [False, True, False, True, False, False]


def test_a_choice_of_layer_keeps_the_word(page):
    maps = some_maps()
    page.open(maps)
    page.line(0)[4].click()
    page.choose("layer", 0)
    assert page.chosen() == (0, 4)
    np.testing.assert_allclose(page.weights(1), maps.cross[0].mean(0)[4], atol=2e-3)


def test_a_click_holds_a_word_until_escape(page):
    page.open(some_maps())
    page.line(0)[2].click()
    page.hover(0, 4)
    assert page.chosen() == (0, 2)
    assert page.line(0)[2].get_attribute("aria-pressed") == "true"
    page.press(Keys.ESCAPE)
    page.hover(0, 3)
    assert page.chosen() == (0, 3)


def test_a_second_click_lets_go(page):
    page.open(some_maps())
    page.line(0)[2].click()
    page.line(0)[2].click()
    page.hover(1, 0)
    assert page.chosen() == (1, 0)


def test_all_can_be_done_with_the_keyboard(page):
    page.open(some_maps())
    page.press(Keys.TAB)  # the choice of a map
    page.press(Keys.ARROW_LEFT)
    assert page.said().startswith("Encoder, layer 1")
    page.press(Keys.ARROW_RIGHT, Keys.TAB, Keys.ARROW_LEFT)
    assert page.said().startswith("Cross, layer 0, mean")
    page.press(Keys.TAB, Keys.ARROW_RIGHT)
    assert page.said().startswith("Cross, layer 0, head 0")
    page.press(Keys.TAB)
    assert page.chosen() == (0, 0)
    for key, wanted in (
        (Keys.ARROW_RIGHT, (0, 1)),
        (Keys.END, (0, 5)),
        (Keys.ARROW_RIGHT, (0, 5)),
        (Keys.ARROW_LEFT, (0, 4)),
        (Keys.ARROW_DOWN, (1, 0)),
        (Keys.ARROW_RIGHT, (1, 1)),
        (Keys.ARROW_UP, (0, 0)),
        (Keys.HOME, (0, 0)),
    ):
        page.press(key)
        assert page.chosen() == wanted
        assert page.browser.switch_to.active_element == page.one(".attention-chosen")
    outline = page.one(".attention-chosen").value_of_css_property("outline-style")
    assert outline == "solid"
    page.press(Keys.ENTER)
    page.hover(0, 3)
    assert page.chosen() == (0, 0)


def test_keys_go_the_other_way_where_a_script_does(page):
    page.open(some_maps(target=ARABIC))
    left = [word.rect["x"] for word in page.line(0)]
    assert left == sorted(left, reverse=True)
    assert page.all(".attention-line")[1].get_attribute("dir") == "ltr"
    page.line(0)[0].click()
    page.press(Keys.ARROW_LEFT)
    assert page.chosen() == (0, 1)


def test_controls_have_names(page):
    page.open(some_maps())
    names = [group.text.split("\n")[0] for group in page.all("fieldset")]
    assert names == ["Map", "Layer", "Head"]
    assert [radio.accessible_name for radio in page.all("input[name$='-head']")] == [
        "mean",
        "0",
        "1",
        "2",
    ]
    assert page.line(0)[1].accessible_name == "hun, after zwei"
    assert page.one(".attention-said").get_attribute("aria-live") == "polite"
    labels = [line.get_attribute("aria-label") for line in page.all(".attention-line")]
    assert labels == ["Words looking", "Words looked at"]


def test_tokens_are_text_only(page):
    page.open(some_maps(NASTY, NASTY), title=NASTY[0])
    tokens = [word.text.split("\n")[0] for word in page.line(1)]
    assert tokens == NASTY
    page.one("summary").click()
    assert page.browser.execute_script("return window.broken") is None
    assert page.all("img") == []
    assert page.all(".attention-viewer script, .attention-viewer b") == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("tokens", [NASTY, ARABIC * 8, ["▁日本語", "です"] * 8])
def test_the_page_is_never_wider_than_the_screen(page, width, tokens):
    page.open(some_maps(tokens, tokens, layers=12, heads=16), width=width)
    page.one("summary").click()
    page.settle()
    assert len(page.all("td")) == 1 + len(tokens) * (1 + len(tokens))
    assert page.width() <= width


def test_what_nobody_could_see_is_named(page):
    page.open(some_maps(["\n", "\u200b", "▁", ""]))
    tokens = [word.text.split("\n")[0] for word in page.line(1)]
    assert tokens == ["U+000A", "U+200B", "▁", "(empty)"]


def test_the_table_has_all_weights(page):
    maps = some_maps()
    page.open(maps)
    page.choose("head", 1)
    assert page.all("td") == []
    page.one("summary").click()
    page.settle()
    cells = page.browser.execute_script(
        "return [...document.querySelectorAll('tr')].slice(1).map("
        "row => [...row.querySelectorAll('td')].map(cell => +cell.textContent))"
    )
    np.testing.assert_allclose(cells, maps.cross[1, 1], atol=6e-3)


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark_are_readable(page, dark):
    page.open(some_maps(["▁one"], ["▁eins"]), dark=dark)
    assert (luminance(page, ".attention-viewer", "background-color") < 0.5) == dark
    for selector, back in (
        (".attention-said", ".attention-viewer"),
        (".attention-note", ".attention-viewer"),
        (".attention-after", ".attention-viewer"),
        # The only source token has the whole weight: the darkest shade there is.
        (
            ".attention-side:last-child .attention-token",
            ".attention-side:last-child .attention-word",
        ),
        ("input:checked + span", "input:checked + span"),
    ):
        text = luminance(page, selector, "color")
        ground = luminance(page, back, "background-color")
        low, high = sorted((text, ground))
        assert (high + 0.05) / (low + 0.05) >= 4.5, selector


def luminance(page, selector, property_name):
    """Relative luminance of a colour, as WCAG defines it."""
    color = page.browser.execute_script(
        # A canvas turns any notation of a colour into numbers.
        "const c = document.createElement('canvas').getContext('2d');"
        "const e = document.querySelector(arguments[0]);"
        "c.fillStyle = getComputedStyle(e).getPropertyValue(arguments[1]);"
        "c.fillRect(0, 0, 1, 1);"
        "return [...c.getImageData(0, 0, 1, 1).data.slice(0, 3)]",
        selector,
        property_name,
    )
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (value / 255 for value in color)
    ]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def test_a_page_of_ones_own_shows_several_and_again(page, browser):
    folder = Path(package.__file__).parent
    first, second = attention_data(some_maps()), attention_data(some_maps(layers=1))
    page.path.write_text(
        '<!doctype html><meta charset="utf-8"><div id="a"></div><div id="b"></div>'
        f"<style>{(folder / 'attention_viewer.css').read_text('utf-8')}</style>"
        f"<script>{(folder / 'attention_viewer.js').read_text('utf-8')}</script>",
        encoding="utf-8",
    )
    browser.get(page.path.as_uri())
    show = "showAttention(document.getElementById(arguments[0]), arguments[1])"
    browser.execute_script(show, "a", first)
    browser.execute_script(show, "b", first)
    page.one("#a input[name$='-layer'][value='0']").click()
    page.one("#a input[name$='-head'][value='2']").click()
    page.one("#b input[name$='-head'][value='1']").click()
    assert "layer 1, head 1" in page.one("#b .attention-said").text
    browser.execute_script(show, "a", second)  # keeps what was chosen
    assert "layer 0, head 2" in page.one("#a .attention-said").text
    third = attention_data(some_maps(layers=1, heads=1))
    browser.execute_script(show, "b", third)  # has no layer 1 and no head 1
    assert "layer 0, mean" in page.one("#b .attention-said").text
    assert len(page.all(".attention-viewer")) == 2
    assert json.dumps(first)  # the data is as it was


def test_a_frame_in_a_notebook_works(page, browser):
    page.path.write_text(some_maps()._repr_html_(), encoding="utf-8")
    browser.get(page.path.as_uri())
    browser.switch_to.frame(page.one("iframe"))
    page.choose("head", 1)
    assert "head 1" in page.said()
    browser.switch_to.default_content()
