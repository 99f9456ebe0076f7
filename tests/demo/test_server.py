"""The server: addresses, ports, the command, and what it says."""

import builtins
import logging
import socket
import sys
import threading
import urllib.request
import webbrowser

import pytest
import uvicorn

from keras_transformer.demo import demo_app, serve_demo
from keras_transformer.demo.server import is_loopback
from tests.demo.scripted_translator import ScriptedTranslator

pytestmark = pytest.mark.tensorflow_only


@pytest.fixture(scope="module")
def translator():
    return ScriptedTranslator()


@pytest.fixture(scope="module")
def saved(translator, tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "model.translator"
    translator.save(path)
    return path


@pytest.fixture
def served(monkeypatch):
    """Let servers end at once; gives what each was to serve, with its socket."""
    found = []

    def run(server, sockets):
        found.append((server.config.app, sockets[0].getsockname()))

    monkeypatch.setattr(uvicorn.Server, "run", run)
    return found


@pytest.fixture
def taken_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def hosts(app):
    (rules,) = [one for one in app.user_middleware if "allowed_hosts" in one.kwargs]
    return list(rules.kwargs["allowed_hosts"])


def test_it_serves_on_the_loopback_and_says_where(translator, served, capsys, caplog):
    serve_demo(translator, port=0, title="Toy")
    ((app, (address, port)),) = served
    assert address == "127.0.0.1"
    expected = f"The demo is at http://127.0.0.1:{port} (Ctrl+C ends it)\n"
    assert capsys.readouterr().out == expected
    assert caplog.text == ""
    assert set(hosts(app)) == {"localhost", "127.0.0.1", "[::1]"}


def test_another_address_of_the_loopback_is_answered_by_its_name(translator, served):
    serve_demo(translator, host="127.8.0.1", port=0)
    ((app, _),) = served
    assert "127.8.0.1" in hosts(app)
    assert "*" not in hosts(app)


def test_another_address_is_warned_of(translator, served, capsys, caplog):
    serve_demo(translator, host="0.0.0.0", port=0)
    ((app, (_, port)),) = served
    assert f"http://localhost:{port} " in capsys.readouterr().out
    (record,) = [one for one in caplog.records if one.levelno == logging.WARNING]
    assert "host='0.0.0.0': everyone who reaches this machine" in record.getMessage()
    assert hosts(app) == ["*"]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.5", False),
        ("localhost.example", False),
    ],
)
def test_loopback(host, expected):
    assert is_loopback(host) is expected


def test_the_browser_is_opened_when_asked(translator, served, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    serve_demo(translator, port=0)
    assert opened == []
    serve_demo(translator, port=0, open_browser=True)
    assert opened == [f"http://127.0.0.1:{served[-1][1][1]}"]


def test_ctrl_c_ends_it_without_a_traceback(translator, monkeypatch):
    def interrupted(server, sockets):
        raise KeyboardInterrupt

    monkeypatch.setattr(uvicorn.Server, "run", interrupted)
    assert serve_demo(translator, port=0) is None


def test_a_taken_port_is_one_line_with_its_number(translator, taken_port):
    expected = (
        rf"^Cannot listen at port {taken_port} of 127\.0\.0\.1: it is taken\. "
        r"Choose another `port`\.$"
    )
    with pytest.raises(OSError, match=expected):
        serve_demo(translator, port=taken_port)


def test_an_address_of_another_machine_is_refused(translator):
    with pytest.raises(OSError, match=r"Cannot listen at port \d+ of 192\.0\.2\.1: "):
        serve_demo(translator, host="192.0.2.1", port=0)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"port": -1}, ValueError, "`port` must be from 0 to 65535. Received: -1"),
        ({"port": 65536}, ValueError, "`port` must be from 0 to 65535"),
        ({"port": "80"}, ValueError, "`port` must be from 0 to 65535. Received: '80'"),
        ({"host": ""}, TypeError, "`host` must be a name or an address"),
        ({"max_characters": 0}, ValueError, "`max_characters` must be an integer"),
    ],
)
def test_wrong_arguments(translator, served, arguments, error, match):
    with pytest.raises(error, match=match):
        serve_demo(translator, **arguments)
    assert served == []


@pytest.mark.parametrize("missing", ["fastapi", "uvicorn"])
def test_a_missing_extra_is_one_line(translator, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    expected = (
        r"^The demo page needs fastapi and uvicorn: "
        r"pip install 'keras-transformer-layers\[demo\]'$"
    )
    for call in (demo_app, serve_demo):
        with pytest.raises(ImportError, match=expected):
            call(translator)


def test_importing_the_demo_needs_no_extra(monkeypatch):
    # Modules anew, in a process where the extra cannot be imported.
    for name in [
        one for one in sys.modules if one.startswith("keras_transformer.demo")
    ]:
        monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def refusing(name, *arguments, **options):
        assert name.partition(".")[0] not in ("fastapi", "starlette", "uvicorn")
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refusing)
    import keras_transformer.demo

    assert keras_transformer.demo.__all__ == ["demo_app", "serve_demo"]


def test_a_real_server_answers_over_a_socket_and_is_bounded(translator):
    app = demo_app(translator, max_characters=10)
    config = uvicorn.Config(app, log_config=None, server_header=False)
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    address = listener.getsockname()
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{address[1]}/healthz") as answer:
            assert answer.read() == b'{"status":"ok"}'
            assert answer.headers["server"] is None
        # More bytes announced than allowed: refused before any comes.
        with socket.create_connection(address, timeout=20) as connection:
            connection.sendall(
                b"POST /api/translate HTTP/1.1\r\nhost: localhost\r\n"
                b"content-type: application/json\r\ncontent-length: 99999999\r\n\r\n"
            )
            assert connection.recv(100).startswith(b"HTTP/1.1 413 ")
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()
    assert not thread.is_alive()
