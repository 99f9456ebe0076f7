"""An exported translator behind TensorFlow's C loader, gRPC and REST."""

import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keras_transformer import BeamSearch, GreedySearch, corpora
from tests.translators import small_translator

grpc = pytest.importorskip("grpc")
predict_pb2 = pytest.importorskip("tensorflow_serving.apis.predict_pb2")

pytestmark = pytest.mark.tensorflow_only

ROOT = Path(__file__).parents[2]
SENTENCES = [source for source, _ in corpora.toy(700).train]
LINES = [
    *SENTENCES[:480],
    "",
    " ",
    "\t\u3000\u2028",
    " ".join(SENTENCES[:20]),  # more than 300 tokens
    "\U0001f600 emoji",
    "caf\u00e9",
    "cafe\u0301",
    "a\x00b",
    "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd",
    "\u65e5\u672c\u8a9e",
    *SENTENCES[-10:],
]


class Client:
    """Calls to a server of a model.

    Args:
        base: folder of the model's versions.
        rest: host and port of REST.
        grpc_address: host and port of gRPC.
    """

    def __init__(self, base, rest, grpc_address):
        self.base, self.address = base, {"rest": rest, "grpc": grpc_address}
        self.channel = grpc.insecure_channel(grpc_address)
        self.url = f"http://{rest}/v1/models/{base.name}"

    def wait_for(self, version):
        for _ in range(300):
            try:
                found = self.get("")["model_version_status"][0]["version"]
            except urllib.error.HTTPError:
                found = None  # none is loaded yet
            if found == str(version):
                return
            time.sleep(0.1)
        raise TimeoutError(f"version {version} is not served")

    def get(self, call):
        with urllib.request.urlopen(self.url + call, timeout=60) as response:
            return json.load(response)

    def post(self, body):
        """Return the status and the JSON of an answer."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            request = urllib.request.Request(f"{self.url}:predict", data)
            with urllib.request.urlopen(request, timeout=60) as response:
                return 200, json.load(response)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def rest(self, lines):
        status, body = self.post({"inputs": {"text": lines}})
        assert status == 200, body
        return body["outputs"]["translation"]

    def request(self, inputs, signature="serving_default", name=None):
        import tensorflow as tf

        request = predict_pb2.PredictRequest()
        request.model_spec.name = name or self.base.name
        request.model_spec.signature_name = signature
        for key, value in inputs.items():
            request.inputs[key].CopyFrom(tf.make_tensor_proto(value))
        return request

    def predict(self, *arguments, **options):
        from tensorflow_serving.apis import prediction_service_pb2_grpc

        stub = prediction_service_pb2_grpc.PredictionServiceStub(self.channel)
        return stub.Predict(self.request(*arguments, **options), timeout=60)

    def grpc(self, lines):
        import tensorflow as tf

        response = self.predict({"text": tf.constant(lines, tf.string, [len(lines)])})
        outputs = response.outputs["translation"]
        assert [dim.size for dim in outputs.tensor_shape.dim] == [len(lines)]
        return [text.decode() for text in outputs.string_val]

    def stop(self):
        self.channel.close()


class Server(Client):
    """The test server in a process of its own."""

    def __init__(self, base):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.serving.model_server", base],
            cwd=ROOT,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.ports = json.loads(self.process.stdout.readline())
        addresses = (f"127.0.0.1:{self.ports[kind]}" for kind in ("rest", "grpc"))
        super().__init__(base, *addresses)

    def stop(self):
        super().stop()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def translator():
    return small_translator(max_length=24, search=BeamSearch(num_beams=2))


def real_server():
    """TensorFlow Serving, if the environment names one."""
    names = "SERVING_MODELS", "SERVING_REST", "SERVING_GRPC"
    values = [os.environ.get(name) for name in names]
    if not all(values):
        pytest.skip(f"no TensorFlow Serving in {', '.join(names)}")
    return Client(Path(values[0]) / "tested", *values[1:])


@pytest.fixture(scope="module", params=["C library", "TensorFlow Serving"])
def server(translator, tmp_path_factory, request):
    real = request.param == "TensorFlow Serving"
    server = real_server() if real else None
    base = server.base if real else tmp_path_factory.mktemp("models") / "es"
    versions = [int(path.name) for path in base.glob("[0-9]*")]
    version = max(versions, default=0) + 1
    translator.export(base / str(version))
    server = server or Server(base)
    server.wait_for(version)
    yield server
    server.stop()


def in_batches(function, lines, size):
    parts = [lines[place : place + size] for place in range(0, len(lines), size)]
    return [answer for part in parts for answer in function(part)]


def test_the_process_is_that_of_a_server(server):
    assert getattr(server, "ports", {}).get("forbidden", []) == []


@pytest.mark.parametrize("way", ["rest", "grpc"])
def test_500_lines_are_translated_as_by_the_translator(server, translator, way):
    assert len(LINES) == 500
    expected = translator(LINES)
    assert len(set(expected)) > 20
    assert len(translator.tokenizer.tokenize(LINES[483])) > 300
    assert in_batches(getattr(server, way), LINES, 50) == expected
    assert in_batches(getattr(server, way), LINES[470:], 1) == expected[470:]


def test_a_batch_of_none(server):
    assert server.rest([]) == server.grpc([]) == []


def test_forms_of_rest(server, translator):
    line, expected = LINES[0], translator(LINES[:1])[0]
    encoded = {"b64": "SGVsbG8="}
    for instances in ([line], [{"text": line}]):
        status, body = server.post({"instances": instances})
        assert status == 200
        assert body["predictions"][0]["translation"] == expected
    status, body = server.post({"inputs": [line, encoded]})
    assert body["outputs"]["translation"] == [expected, translator("Hello")]
    body = {"signature_name": "score", "inputs": {"text": [line], "translation": [""]}}
    status, body = server.post(body)
    assert set(body["outputs"]) == {"log_probability", "length"}


def test_metadata_and_status(server):
    from tensorflow_serving.apis import (
        get_model_metadata_pb2,
        get_model_status_pb2,
        model_service_pb2_grpc,
        prediction_service_pb2_grpc,
    )

    names = server.get("/metadata")["metadata"]["signature_def"]["signature_def"]
    assert {"score", "serving_default", "translate_ids"} <= set(names)
    stub = model_service_pb2_grpc.ModelServiceStub(server.channel)
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = server.base.name
    statuses = stub.GetModelStatus(request, timeout=60).model_version_status
    assert 30 in [status.state for status in statuses]  # available
    stub = prediction_service_pb2_grpc.PredictionServiceStub(server.channel)
    request = get_model_metadata_pb2.GetModelMetadataRequest()
    request.model_spec.name = server.base.name
    response = stub.GetModelMetadata(request, timeout=60)
    found = get_model_metadata_pb2.SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(found)
    outputs = found.signature_def["serving_default"].outputs
    assert sorted(outputs) == ["score", "translation"]


@pytest.mark.parametrize(
    ("inputs", "signature", "code", "words"),
    [
        ({}, "serving_default", "INVALID_ARGUMENT", "must be text. Received: none"),
        ({"line": ["a"]}, "serving_default", "INVALID_ARGUMENT", "Received: line"),
        ({"text": [1]}, "serving_default", "INVALID_ARGUMENT", "wrong dtype int32"),
        ({"text": [["a"]]}, "serving_default", "INVALID_ARGUMENT", "wrong rank 2"),
        ({"text": ["a"]}, "unknown", "INVALID_ARGUMENT", "'unknown' not found"),
    ],
)
def test_wrong_requests_get_an_error_and_the_next_is_answered(
    server, translator, inputs, signature, code, words
):
    with pytest.raises(grpc.RpcError) as error:
        server.predict(inputs, signature)
    assert error.value.code().name == code
    if isinstance(server, Server):  # the words are its own
        assert words in error.value.details()
    assert server.grpc(LINES[:1]) == translator(LINES[:1])


def test_wrong_bodies_get_an_error_and_the_next_is_answered(server, translator):
    for body in (b"", b"{", b"[1]", b'{"inputs": [1]}', b'{"instances": []}'):
        status, answer = server.post(body)
        assert status == 400, body
        assert answer["error"]
    assert server.rest(LINES[:1]) == translator(LINES[:1])


def test_bytes_that_are_no_utf8_and_a_line_of_a_megabyte(server, translator):
    status, _ = server.post({"inputs": [{"b64": "//4="}, LINES[0]]})
    assert status in (200, 400)
    start = time.monotonic()
    long = LINES[0] * (1_000_000 // len(LINES[0]))
    assert server.grpc([long, LINES[0]]) == ["", translator(LINES[0])]
    assert server.rest([long]) == [""]
    assert time.monotonic() - start < 30
    assert server.grpc(LINES[:1]) == translator(LINES[:1])


def test_eight_threads(server, translator):
    lines = LINES[300:]
    expected = translator(lines)

    def ask(number):
        way = server.grpc if number % 2 else server.rest
        return [way([line]) == [answer] for line, answer in pairs]

    pairs = list(zip(lines, expected, strict=True))

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))
    assert sum(map(len, answers)) == 1600
    assert all(map(all, answers))


def test_a_new_version_takes_over_under_load(translator, tmp_path):
    other = small_translator(max_length=24, search=GreedySearch())
    base = tmp_path / "es"
    translator.export(base / "1")
    swapped = Server(base)
    try:
        swapped.wait_for(1)
        lines, wrong, stop = LINES[:4], [], threading.Event()
        answers = [translator(lines), other(lines)]

        def ask():
            while not stop.is_set():
                try:
                    if swapped.rest(lines) not in answers:
                        wrong.append("another answer")
                except Exception as error:
                    wrong.append(repr(error))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        other.export(base / "2")
        swapped.wait_for(2)
        time.sleep(0.5)
        stop.set()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert swapped.grpc(lines) == answers[1]
    finally:
        swapped.stop()


def run_example(name, *arguments):
    return subprocess.run(
        [sys.executable, ROOT / "examples" / "serving" / name, *LINES[:2], *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )


@pytest.mark.parametrize("name", ["rest_client.py", "grpc_client.py"])
def test_example_clients(server, translator, name):
    rest = name == "rest_client.py"
    address = f"http://{server.address['rest']}" if rest else server.address["grpc"]
    server_and_model = "--server", address, "--model", server.base.name
    done = run_example(name, *server_and_model)
    assert done.stdout.splitlines() == translator(LINES[:2]), done.stderr
    done = run_example(name, "--server", address, "--model", "fr")
    assert done.returncode == 1
    assert "Servable not found" in done.stderr.splitlines()[-1]
    nowhere = "http://127.0.0.1:9" if rest else "127.0.0.1:9"
    done = run_example(name, "--server", nowhere, "--timeout", "2")
    assert done.returncode == 1
    assert "127.0.0.1:9" in done.stderr.splitlines()[-1]
