"""An exported translator behind the server of the tests."""

import atexit
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from benchmarks.resident_memory import megabytes

ROOT = Path(__file__).parents[1]
# Requests beside each other use the cores better than threads within an operation.
THREADS = ("--intra", "1")


class ModelServer:
    """The server of the tests with an exported translator, in a process of its own.

    Args:
        translator: a `Translator`.
    """

    def __init__(self, translator):
        self._folder = tempfile.TemporaryDirectory()
        base = Path(self._folder.name) / "model"
        translator.export(base / "1")
        self._process: Any = subprocess.Popen(
            [sys.executable, "-m", "tests.serving.model_server", base, *THREADS],
            cwd=ROOT,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(self.stop)
        self._ports = json.loads(self._process.stdout.readline())
        self._wait()

    def grpc(self):
        """Return a function that translates over gRPC."""
        import grpc
        import tensorflow as tf
        from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

        channel = grpc.insecure_channel(f"127.0.0.1:{self._ports['grpc']}")
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)

        def translate(lines):
            request = predict_pb2.PredictRequest()
            request.model_spec.name = "model"
            tensor = tf.make_tensor_proto(lines, tf.string, [len(lines)])
            request.inputs["text"].CopyFrom(tensor)
            response = stub.Predict(request, timeout=600)
            return [
                text.decode() for text in response.outputs["translation"].string_val
            ]

        return translate

    def rest(self):
        """Return a function that translates over REST."""
        url = f"http://127.0.0.1:{self._ports['rest']}/v1/models/model:predict"

        def translate(lines):
            body = json.dumps({"inputs": {"text": lines}}).encode()
            with urllib.request.urlopen(url, body, timeout=600) as response:
                return json.load(response)["outputs"]["translation"]

        return translate

    def megabytes(self):
        """Return what the server's process holds."""
        return megabytes(self._process.pid)

    def stop(self):
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()

    def _wait(self):
        """Wait until the model is loaded: till then the server knows none."""
        import grpc

        translate = self.grpc()
        for _ in range(600):
            try:
                translate(["Hello."])
            except grpc.RpcError:
                time.sleep(0.1)
            else:
                return
        raise TimeoutError("The exported model is not served.")
