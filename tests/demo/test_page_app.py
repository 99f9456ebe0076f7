"""The page's addresses: what they answer, and what they refuse."""

import asyncio
import json
import math

import httpx
import keras
import pytest

from keras_transformer import GreedySearch, RecurrentSeq2Seq, Translator
from keras_transformer.demo import demo_app
from keras_transformer.demo.page_files import FILES
from tests.backends import searches_without_xla
from tests.demo.scripted_translator import ScriptedTranslator
from tests.translators import (
    VOCABULARY_SIZE,
    sentences,
    small_translator,
    toy_tokenizer,
)

pytestmark = pytest.mark.tensorflow_only
ADDRESS = "http://127.0.0.1:7860"
JSON = "application/json"


def client(app):
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=ADDRESS)


def ask(app, path, question=None, **options):
    async def request():
        async with client(app) as session:
            if question is None:
                return await session.get(path, **options)
            # `json=` would refuse half of a character, which JSON can write.
            content, headers = json.dumps(question), {"content-type": JSON}
            return await session.post(
                path, content=content, **{"headers": headers, **options}
            )

    return asyncio.run(request())


def refusal(app, path, question=None, **options):
    response = ask(app, path, question, **options)
    return response.status_code, response.json()["detail"]


@pytest.fixture(scope="module")
def translator():
    with searches_without_xla():
        yield small_translator()


@pytest.fixture(scope="module")
def app(translator):
    return demo_app(translator, title="Toy", examples=["A dog runs."])


@pytest.fixture(scope="module")
def scripted():
    return ScriptedTranslator()


@pytest.fixture(scope="module")
def scripted_app(scripted):
    return demo_app(scripted, max_characters=60)


def test_translations_are_the_translators_own(app, translator):
    source = sentences(1)[0]
    (line,) = ask(app, "/api/translate", {"text": source}).json()["lines"]
    expected = translator.n_best([source], 3)[0]
    found = line["translations"]
    assert [one["text"] for one in found] == [one.text for one in expected]
    for name, attribute in (
        ("score", "score"),
        ("log_probability", "log_probability"),
        ("tokens", "length"),
        ("finished", "finished"),
    ):
        wanted = [getattr(one, attribute) for one in expected]
        assert [one[name] for one in found] == pytest.approx(wanted)
    assert line["source"] == source
    assert line["error"] is None


def test_attention_is_the_translators_own(app, translator):
    source, target = sentences(2)
    found = ask(app, "/api/attention", {"source": source, "target": target}).json()
    expected = translator.attention(source, target)
    for side in ("source_tokens", "target_tokens", "predicted_tokens"):
        assert found[side] == getattr(expected, side)
    for part in ("encoder", "decoder", "cross"):
        maps = getattr(expected, part)
        assert keras.ops.shape(found[part]) == maps.shape
        assert math.isclose(found[part][1][0][1][0], maps[1, 0, 1, 0], abs_tol=6e-4)


def test_info_says_what_is_served(app, translator):
    found = ask(app, "/api/info").json()
    assert found["title"] == "Toy"
    assert found["examples"] == ["A dog runs."]
    assert found["max_characters"] == 1000
    assert found["model"] == "Transformer"
    assert found["parameters"] == translator.model.count_params()
    assert found["search"] == "BeamSearch"
    assert found["settings"] == translator.search.get_config()
    assert found["n_best"] == 3
    assert found["attention"] is True


def test_health(app):
    assert ask(app, "/healthz").json() == {"status": "ok"}


def test_each_line_is_a_sentence_and_blank_lines_stay(scripted_app):
    text = "one\r\n\n two \n"
    lines = ask(scripted_app, "/api/translate", {"text": text}).json()["lines"]
    assert [line["source"] for line in lines] == ["one", "", " two ", ""]
    assert [len(line["translations"]) for line in lines] == [3, 0, 3, 0]
    assert [line["error"] for line in lines] == [None] * 4


def test_the_number_of_translations_can_be_asked_for(scripted_app):
    question = {"text": "one", "n_best": 2}
    (line,) = ask(scripted_app, "/api/translate", question).json()["lines"]
    assert [one["text"] for one in line["translations"]] == ["one", "one (2)"]


def test_markup_comes_back_as_it_was(scripted_app):
    text = "<script>alert(1)</script> & <img onerror=x>"
    response = ask(scripted_app, "/api/translate", {"text": text})
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.json()["lines"][0]["translations"][0]["text"] == text


@pytest.mark.parametrize(
    ("text", "part", "sentence"),
    [
        ("nothing here", "error", "The model finds no translation"),
        ("cut here", "notes", "This translation was cut at the limit of length."),
    ],
)
def test_what_is_odd_about_a_line_is_said(scripted_app, text, part, sentence):
    question = {"text": f"{text}\nfine"}
    odd, fine = ask(scripted_app, "/api/translate", question).json()["lines"]
    assert sentence in str(odd[part])
    assert fine["notes"] == []
    assert fine["error"] is None


def test_a_line_too_long_for_the_model_is_an_error_of_that_line(
    scripted_app, scripted, monkeypatch
):
    monkeypatch.setattr(scripted, "max_source_length", 9)
    text = "The small dog sees two red houses and a cow.\nA dog."
    answer = ask(scripted_app, "/api/translate", {"text": text}).json()
    long, short = answer["lines"]
    assert "too long for the model: it has 26 tokens" in long["error"]
    assert "a sentence may have 8" in long["error"]
    assert long["translations"] == []
    assert short["error"] is None


def test_a_line_of_as_many_tokens_as_the_model_reads_is_translated(
    scripted_app, scripted, monkeypatch
):
    tokens = len(scripted.tokenizer.tokenize("A dog runs."))
    for positions, fits in ((tokens + 1, True), (tokens, False)):
        monkeypatch.setattr(scripted, "max_source_length", positions)
        answer = ask(scripted_app, "/api/translate", {"text": "A dog runs."}).json()
        assert (answer["lines"][0]["error"] is None) is fits


@pytest.mark.parametrize("path", ["/api/translate", "/api/attention"])
def test_a_text_above_the_limit_is_refused(scripted_app, scripted, path):
    question = {"text": "a" * 61, "source": "a" * 61, "target": "a"}
    expected = "The text has 61 characters. At most 60 are allowed."
    assert refusal(scripted_app, path, question) == (422, expected)
    assert "a" * 61 not in scripted.asked


def test_a_text_at_the_limit_is_translated_whatever_its_bytes(scripted_app):
    text = "\U0001f600" * 60
    (line,) = ask(scripted_app, "/api/translate", {"text": text}).json()["lines"]
    assert line["translations"][0]["text"] == text


def test_a_body_too_large_is_refused_before_it_is_read(scripted_app):
    most = 2**16 + 24 * 60
    status, sentence = refusal(scripted_app, "/api/translate", {"text": "a" * most})
    assert status == 413
    assert sentence.startswith(f"A request may have at most {most:,} bytes. Received: ")


def test_a_body_without_a_length_is_refused(scripted_app):
    async def request():
        async def parts():
            yield b'{"text": "one"}'

        async with client(scripted_app) as session:
            headers = {"content-type": "application/json"}
            path = "/api/translate"
            return await session.post(path, content=parts(), headers=headers)

    response = asyncio.run(request())
    assert response.status_code == 411
    assert response.json()["detail"] == "A request must say its length."


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ({}, "body.text: Field required"),
        ({"text": 3}, "body.text: Input should be a valid string"),
        ({"text": "one", "n_best": True}, "body.n_best: Input should be a valid int"),
        ({"text": "one", "n_best": 0}, "`n_best` must be from 1 to 3. Received: 0."),
        ({"text": "one", "n_best": 4}, "`n_best` must be from 1 to 3. Received: 4."),
        ({"text": "one \ud800"}, "half of a character, a lone surrogate"),
    ],
)
def test_a_wrong_question_is_refused_in_words(scripted_app, question, sentence):
    status, detail = refusal(scripted_app, "/api/translate", question)
    assert status == 422
    assert sentence in detail


def test_a_form_of_another_site_cannot_ask(scripted_app, scripted):
    # What a browser sends across sites without asking first has another type.
    async def request(headers):
        async with client(scripted_app) as session:
            content = b'{"text": "across"}'
            path = "/api/translate"
            return await session.post(path, content=content, headers=headers)

    for headers in ({"content-type": "text/plain"}, {}):
        assert asyncio.run(request(headers)).status_code == 422
    assert "across" not in scripted.asked


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:7860", "127.0.0.1:99", "[::1]:7860"]
)
def test_loopback_names_are_answered(scripted_app, host):
    assert ask(scripted_app, "/healthz", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/demo.js", "/api/info", "/healthz"])
@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:7860"]
)
def test_another_host_is_refused(scripted_app, path, host):
    response = ask(scripted_app, path, headers={"host": host})
    assert response.status_code == 400
    assert "Invalid host" in response.text


@pytest.mark.parametrize("path", [*FILES, "/api/info", "/no-such-page"])
def test_every_answer_has_the_headers(scripted_app, path):
    headers = ask(scripted_app, path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("path", "kind"), [(path, one[-1]) for path, one in FILES.items()]
)
def test_files_of_the_page(scripted_app, path, kind):
    response = ask(scripted_app, path)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith(kind)
    assert "http://" not in response.text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in response.text
    assert "innerHTML" not in response.text


@pytest.mark.parametrize("path", ["/docs", "/openapi.json", "/../pyproject.toml"])
def test_nothing_else_is_served(scripted_app, path):
    assert ask(scripted_app, path).status_code == 404


def test_two_who_ask_at_once_get_their_own_answers(scripted_app, scripted):
    async def requests():
        async with client(scripted_app) as session:
            texts = [f"text {number}" for number in range(12)]
            answers = await asyncio.gather(
                *(session.post("/api/translate", json={"text": text}) for text in texts)
            )
            found = [answer.json()["lines"][0]["source"] for answer in answers]
            return texts, found

    texts, found = asyncio.run(requests())
    assert found == texts
    assert not scripted.overlapped


def test_the_server_answers_while_the_model_works(scripted_app, scripted):
    scripted.begun.clear()
    scripted.go.clear()

    async def requests():
        async with client(scripted_app) as session:
            question = {"text": "wait"}
            slow = asyncio.create_task(session.post("/api/translate", json=question))
            assert await asyncio.to_thread(scripted.begun.wait, 20)
            health = await asyncio.wait_for(session.get("/healthz"), 10)
            waiting = not slow.done()
            scripted.go.set()
            return health.status_code, waiting, (await slow).status_code

    assert asyncio.run(requests()) == (200, True, 200)


def test_who_has_left_is_not_translated_for(scripted_app, scripted):
    scripted.begun.clear()
    scripted.go.clear()
    body = json.dumps({"text": "first wait\nsecond"}).encode()
    headers = {
        "host": "localhost",
        "content-type": "application/json",
        "content-length": str(len(body)),
    }
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/translate",
        "query_string": b"",
        "headers": [(key.encode(), value.encode()) for key, value in headers.items()],
    }
    sent = []

    async def request():
        messages = iter([{"type": "http.request", "body": body}])

        async def receive():
            if message := next(messages, None):
                return message
            await asyncio.to_thread(scripted.begun.wait, 20)
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        await scripted_app(scope, receive, send)

    asyncio.run(request())
    scripted.go.set()
    assert sent[0]["status"] == 499
    assert ask(scripted_app, "/api/translate", {"text": "next"}).status_code == 200
    assert scripted.asked[-2:] == ["first wait", "next"]


def test_a_translator_that_fails_is_reported_and_goes_on(scripted_app, caplog):
    expected = "The translator failed. What happened stands in the server's log."
    question = {"text": "break"}
    assert refusal(scripted_app, "/api/translate", question) == (500, expected)
    assert "broken on purpose" in caplog.text
    assert ask(scripted_app, "/api/translate", {"text": "one"}).status_code == 200


@pytest.mark.parametrize(
    ("source", "target", "sentence"),
    [
        (" ", "one", "A blank sentence has no attention maps."),
        ("a" * 60, "b" * 200, "This translation has 2"),
        ("\U0001f600" * 60, "one", "This sentence has 2"),
        ("one", "\ud800", "half of a character, a lone surrogate"),
    ],
)
def test_no_attention_is_said_in_words(scripted_app, source, target, sentence):
    question = {"source": source, "target": target}
    status, detail = refusal(scripted_app, "/api/attention", question)
    assert status == 422
    assert sentence in detail


def test_a_model_without_attention_maps_says_so():
    model = RecurrentSeq2Seq(VOCABULARY_SIZE, num_layers=(1, 1), hidden_dim=8)
    app = demo_app(Translator(model, toy_tokenizer(), search=GreedySearch()))
    info = ask(app, "/api/info").json()
    assert info["attention"] is False
    assert info["n_best"] == 1
    status, sentence = refusal(app, "/api/attention", {"source": "a", "target": "b"})
    assert status == 422
    assert sentence == (
        "This model, a RecurrentSeq2Seq, gives no attention maps: only a Transformer "
        "does."
    )


def test_the_model_is_warm_before_the_first_visitor(scripted):
    app = demo_app(scripted, examples=["Warm."])

    async def live():
        async with app.router.lifespan_context(app), client(app) as session:
            return await session.post("/api/translate", json={"text": "one"})

    before = len(scripted.asked)
    assert asyncio.run(live()).status_code == 200
    assert scripted.asked[before:] == ["Warm.", "one"]


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"translator": "model"}, TypeError, "`translator` must be a `Translator`"),
        ({"max_characters": 0}, ValueError, "`max_characters` must be an integer"),
        ({"title": 3}, TypeError, "`title` must be a string. Received: 3"),
        ({"examples": "one"}, TypeError, "`examples` must be a list of strings"),
        ({"examples": 3}, TypeError, "`examples` must be a list of strings"),
        ({"hosts": [1]}, TypeError, "`hosts` must be a list of strings"),
    ],
)
def test_wrong_arguments(scripted, arguments, error, match):
    with pytest.raises(error, match=match):
        demo_app(**{"translator": scripted, **arguments})
