"""The page in a real browser: what a person types, sees and reaches by keyboard."""

import contextlib
import socket
import threading

import pytest
import uvicorn

from keras_transformer import RecurrentSeq2Seq, Translator
from keras_transformer.demo import demo_app
from keras_transformer.demo.worker import Worker
from tests.backends import searches_without_xla
from tests.browser import chromium, needs_chromium, set_screen
from tests.demo.scripted_translator import ScriptedTranslator
from tests.translators import VOCABULARY_SIZE, toy_tokenizer

pytest.importorskip("selenium.webdriver")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

pytestmark = [pytest.mark.tensorflow_only, needs_chromium]
ARABIC = "الرجل الذي يرتدي قبعة"


@contextlib.contextmanager
def serving(app):
    """Serve in a thread; gives the address, and a function that stops the server."""
    server = uvicorn.Server(uvicorn.Config(app, log_config=None))
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()

    def stop():
        server.should_exit = server.force_exit = True
        thread.join(20)
        listener.close()

    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", stop
    finally:
        stop()
    assert not thread.is_alive()


@pytest.fixture(scope="module")
def translator():
    translator = ScriptedTranslator()
    translator.attention("A dog runs.", "A dog runs.")  # traced before it is waited for
    return translator


@pytest.fixture(scope="module")
def address(translator):
    app = demo_app(
        translator, title="Toy <b>", max_characters=200, examples=["A dog.", "A cow."]
    )
    with serving(app) as (address, _):
        yield address


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver


class Page:
    """What a person does with the page."""

    def __init__(self, browser, address):
        self.browser = browser
        browser.get(address)
        self.wait(lambda: self.text("count"))

    def wait(self, condition):
        return WebDriverWait(self.browser, 20, 0.05).until(lambda _: condition())

    def part(self, name):
        return self.browser.find_element(By.ID, name)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def text(self, name):
        return self.part(name).text

    def fill(self, text):
        """Put a text into the field without the page's knowing of it."""
        script = "arguments[0].value = arguments[1]"
        self.browser.execute_script(script, self.part("source"), text)

    def translate(self, text):
        self.fill(text)
        self.part("translate").click()

    def shown(self):
        """The first line's translation."""
        return "".join(one.text for one in self.all("#translation .line")[:1])

    def until_attention(self):
        self.wait(lambda: self.all(".attention-word"))
        self.wait(lambda: not self.all("[aria-busy=true]"))

    def focused(self):
        return self.browser.switch_to.active_element

    def keys(self, *keys):
        self.focused().send_keys(*keys)

    def screen(self, width, dark=False):
        set_screen(self.browser, width=width, dark=dark)

    def complaints(self):
        """What the browser's console says, refused requests apart."""
        entries = [one["message"] for one in self.browser.get_log("browser")]
        return [one for one in entries if "Failed to load resource" not in one]


@pytest.fixture
def page(browser, address):
    page = Page(browser, address)
    page.screen(1280)
    yield page
    assert page.complaints() == []


def test_the_page_says_what_is_served(page):
    assert page.text("title") == page.browser.title == "Toy <b>"
    assert page.text("model").startswith("Transformer of ")
    assert page.text("model").endswith("parameters, BeamSearch with 3 beams")
    assert page.text("count") == "0 / 200 characters"
    assert not page.part("choices").is_displayed()
    assert not page.part("attention").is_displayed()


def test_typing_is_translated_without_a_button_once_it_stops(page):
    for key in "A dog runs.":
        page.keys(key)
    page.wait(lambda: page.text("translation") == "A dog runs.")
    assert page.text("status") == page.text("error") == ""
    assert page.text("count") == "11 / 200 characters"
    requests = "return performance.getEntriesByType('resource').map((one) => one.name)"
    paths = [url.rpartition("/")[2] for url in page.browser.execute_script(requests)]
    assert 1 <= paths.count("translate") < 6  # and not one for each of eleven keys


def test_the_best_few_stand_with_their_scores_by_name(page):
    page.translate("A dog.")
    page.wait(lambda: len(page.all(".hypothesis")) == 3)
    second = page.all(".hypothesis")[1].text.splitlines()
    assert second == [
        "A dog. (2)",
        "normalised score",
        "\u22121.000",
        "log-probability",
        "\u22122.500",
        "tokens",
        "5",
    ]
    assert page.all(".hypothesis input")[0].is_selected()


def test_another_choice_shows_its_attention(page):
    page.translate("A dog.")
    page.until_attention()
    before = len(page.all(".attention-word"))
    page.all(".hypothesis")[2].click()
    page.wait(lambda: len(page.all(".attention-word")) > before)
    assert page.all(".hypothesis input")[2].is_selected()


def test_pointing_at_a_word_shows_where_it_looks(page):
    page.translate("A dog runs.")
    page.until_attention()
    queries = page.all(".attention-line")[0].find_elements(By.TAG_NAME, "button")
    word = queries[2].find_element(By.CLASS_NAME, "attention-token").text
    ActionChains(page.browser).move_to_element(queries[2]).perform()
    (said,) = page.all(".attention-said")
    page.wait(lambda: f"\u201c{word}\u201d looks at" in said.text)
    looked_at = page.all(".attention-side:nth-child(2) .attention-word")
    script = "return arguments[0].style.getPropertyValue('--weight')"
    weights = [float(page.browser.execute_script(script, key)) for key in looked_at]
    assert sum(weights) == pytest.approx(1, abs=0.01)


def test_lines_stay_lines_and_each_can_be_looked_into(page):
    page.translate("A dog.\n\nA cow.")
    page.wait(lambda: len(page.all("#translation .line")) == 3)
    lines = page.all("#translation .line")
    assert [line.text for line in lines] == ["A dog.", "", "A cow."]
    assert lines[1].size["height"] == lines[0].size["height"]
    choice = Select(page.part("line"))
    assert [one.text for one in choice.options] == ["1: A dog.", "3: A cow."]
    choice.select_by_index(1)
    page.wait(lambda: page.all(".hypothesis .text")[0].text == "A cow.")


def test_an_example_is_a_button(page):
    examples = page.all(".example")
    assert [one.text for one in examples] == ["A dog.", "A cow."]
    examples[1].click()
    page.wait(lambda: page.text("translation") == "A cow.")
    assert page.part("source").get_property("value") == "A cow."


def test_everything_is_reached_by_the_keyboard(page):
    assert page.focused().get_attribute("id") == "source"
    page.fill("A dog runs.")
    page.keys(Keys.CONTROL, Keys.ENTER)
    page.until_attention()
    assert page.part("source").get_property("value") == "A dog runs."
    seen = []
    for _ in range(12):
        page.keys(Keys.TAB)
        element = page.focused()
        outline = element.value_of_css_property("outline-style")
        assert outline == "solid", element.get_attribute("outerHTML")
        seen.append(
            element.get_attribute("id")
            or element.get_attribute("name")
            or element.get_attribute("class")
            or element.tag_name
        )
        if "attention-word" in seen[-1]:
            break
    expected = ["translate", "example", "example", "hypothesis", "summary"]
    assert seen[:5] == expected
    assert [one.rpartition("-")[2] for one in seen[5:8]] == ["part", "layer", "head"]
    (said,) = page.all(".attention-said")
    before = said.text
    page.keys(Keys.ARROW_RIGHT)
    page.wait(lambda: said.text != before)


def test_a_choice_is_made_with_the_arrow_keys(page):
    page.translate("A dog.")
    page.until_attention()
    page.all(".hypothesis input")[0].send_keys(Keys.ARROW_DOWN)
    page.wait(lambda: page.all(".hypothesis input")[1].is_selected())
    page.until_attention()


def test_markup_stays_text(page):
    for text in (
        "<script>document.title='x'</script>",
        "<img src=x onerror=\"document.title='x'\">",
        "<b>bold</b> &amp; &lt;i&gt;",
    ):
        page.translate(text)
        page.wait(lambda text=text: page.text("translation") == text)
        page.until_attention()
        assert page.all(".hypothesis .text")[1].text == f"{text} (2)"
        inside = "main script, main img, .line b, .text b, #viewer b"
        assert page.all(inside) == []
        assert page.browser.title == "Toy <b>"


def test_a_text_too_long_is_said_and_not_sent(page, translator):
    text = "a" * 201
    page.translate(text)
    expected = "The text has 201 characters. At most 200 are translated at a time."
    page.wait(lambda: page.text("error") == expected)
    assert page.part("source").get_property("value") == text  # nothing is cut
    assert text not in translator.asked
    page.translate("\U0001f600" * 200)  # counted as people count
    page.wait(lambda: page.text("translation") == "\U0001f600" * 200)
    assert page.text("error") == ""


def test_an_error_of_the_server_is_shown_in_words(page):
    page.translate("break")
    page.wait(lambda: page.text("error").startswith("The translator failed."))
    assert not page.part("choices").is_displayed()
    page.translate("A dog.")
    page.wait(lambda: page.text("translation") == "A dog.")
    assert page.text("error") == ""


def test_an_error_of_a_line_is_shown_beside_the_others(page):
    page.translate("nothing\nA dog.")
    page.wait(lambda: len(page.all("#translation p")) == 2)
    error, line = page.all("#translation p")
    assert error.text.startswith("Line 1: The model finds no translation")
    assert "alert" in error.get_attribute("class")
    assert line.text == "A dog."
    assert not page.part("line").is_displayed()


@pytest.fixture
def waiting(monkeypatch):
    """The text of each question for the translator, with its future."""
    found, submit = [], Worker.submit

    def noted(worker, function, *arguments):
        future = submit(worker, function, *arguments)
        found.append((arguments[0], future))
        return future

    monkeypatch.setattr(Worker, "submit", noted)
    return found


def test_the_last_text_wins(page, translator, waiting):
    translator.begun.clear()
    translator.go.clear()
    page.translate("wait")
    assert translator.begun.wait(20)
    assert page.text("status") == "Translating\u2026"
    assert page.part("status").get_attribute("role") == "status"
    assert page.part("translation").get_attribute("aria-busy") == "true"
    page.translate("dropped")
    page.wait(lambda: "dropped" in dict(waiting))
    page.translate("last")
    page.wait(lambda: dict(waiting)["dropped"].cancelled())
    assert page.text("count") == "4 / 200 characters"
    assert page.text("status") == "Translating\u2026"
    assert page.text("error") == ""
    translator.go.set()
    page.wait(lambda: page.text("translation") == "last")
    assert page.text("status") == page.text("error") == ""
    assert translator.asked[-2:] == ["wait", "last"]


def test_clearing_the_text_clears_the_page(page):
    page.translate("A dog.")
    page.until_attention()
    page.translate("")
    page.wait(lambda: page.text("translation") == "")
    assert not page.part("choices").is_displayed()
    assert not page.part("attention").is_displayed()


def test_text_from_right_to_left(page):
    page.translate(ARABIC)
    page.wait(lambda: page.text("translation") == ARABIC)
    script = "return getComputedStyle(arguments[0]).direction"
    for element in (
        page.part("source"),
        page.all("#translation .line")[0],
        page.all(".hypothesis .text")[0],
    ):
        assert page.browser.execute_script(script, element) == "rtl"


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_width_scrolls_sideways(page, width):
    page.screen(width)
    for text in ("", "A dog runs.\nA cow.", "w" * 200, ARABIC, "a" * 300):
        page.translate(text)
        page.wait(lambda: page.text("status") == "")
        if text and len(text) <= 200:
            first = text.partition("\n")[0]
            page.wait(lambda first=first: page.shown() == first)
            page.wait(lambda: not page.all("[aria-busy=true]"))
        script = "const page = document.documentElement; return %s"
        wide = "[innerWidth, page.scrollWidth - page.clientWidth]"
        assert page.browser.execute_script(script % wide) == [width, 0], text


def test_dark_and_light(page):
    page.translate("A dog.")
    page.wait(lambda: page.all(".hypothesis"))

    def brightness(color):
        return sum(int(one) for one in color.strip("rgba()").split(",")[:3])

    for dark in (False, True):
        page.screen(1280, dark=dark)
        for selector in ("body", "#source", "#translation"):
            style = page.all(selector)[0].value_of_css_property
            back, front = style("background-color"), style("color")
            assert (brightness(back) < brightness(front)) is dark, selector


def test_motion_is_reduced_for_who_asks(page):
    style = page.part("translation").value_of_css_property
    page.browser.execute_script(
        "document.getElementById('translation').setAttribute('aria-busy', 'true')"
    )
    assert style("transition-duration") == "0.15s"
    features = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    call = page.browser.execute_cdp_cmd
    call("Emulation.setEmulatedMedia", {"features": features})
    assert style("transition-duration") == "0s"


def test_each_control_has_a_name(page):
    page.translate("A dog.\nA cow.")
    page.until_attention()
    controls = page.all("button, input, select, textarea")
    unnamed = [one.get_attribute("outerHTML") for one in controls if not named(one)]
    assert len(controls) > 10
    assert unnamed == []


def named(control):
    return not control.is_displayed() or control.accessible_name.strip()


def test_a_server_that_stops_is_said(browser, translator):
    with serving(demo_app(translator)) as (address, stop):
        page = Page(browser, address)
        page.translate("A dog.")
        page.until_attention()
        stop()
        page.translate("A cow.")
        page.wait(lambda: page.text("error").startswith("The server does not answer."))
        assert page.part("source").get_property("value") == "A cow."
        assert page.text("status") == ""


def test_a_model_without_attention_maps_says_so(browser):
    model = RecurrentSeq2Seq(VOCABULARY_SIZE, num_layers=(1, 1), hidden_dim=8)
    translator = Translator(model, toy_tokenizer(), max_length=8)
    with searches_without_xla(), serving(demo_app(translator)) as (address, _):
        page = Page(browser, address)
        page.translate("A dog.")
        page.wait(lambda: page.all(".hypothesis"))
        expected = (
            "This model, a RecurrentSeq2Seq, gives no attention maps: only a "
            "Transformer does."
        )
        assert page.text("attention-status") == expected
        assert page.all(".attention-word") == []
