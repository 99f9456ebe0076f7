"""A small model server for the tests, on TensorFlow's C library.

    python -m tests.serving.model_server models/es --intra 1 --inter 2

It answers like TensorFlow Serving, for one model: PredictionService and ModelService on
gRPC, and the REST calls. It prints its two ports as JSON, and runs until it is killed.
The options are the threads of TensorFlow's session within and between operations.
Neither Keras nor this library is in the process.
"""

import argparse
import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.serving import bare_tensorflow

bare_tensorflow.use_bare_package()

import grpc  # noqa: E402
from tensorflow.core.protobuf import config_pb2  # noqa: E402
from tensorflow_serving.apis import (  # noqa: E402
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from tests.serving.c_session import Library, RunError  # noqa: E402
from tests.serving.messages import (  # noqa: E402
    array_of,
    inputs_of,
    json_of,
    message_of,
)
from tests.serving.versions import NOT_FOUND, Versions  # noqa: E402

AVAILABLE = 30
THREADS = 8
CODES = {code.value[0]: code for code in grpc.StatusCode}
PATH = re.compile(
    r"/v1/models/(?P<name>[^/:]+)(?:/versions/(?P<version>\d+))?"
    r"(?P<call>:predict|/metadata)?"
)


def answered(method):
    """Turn errors of the runtime into those of gRPC."""

    def call(self, request, context):
        try:
            return method(self, request)
        except RunError as error:
            context.abort(CODES[error.code], str(error))

    return call


class Services(
    prediction_service_pb2_grpc.PredictionServiceServicer,
    model_service_pb2_grpc.ModelServiceServicer,
):
    """The gRPC calls."""

    def __init__(self, versions):
        self.versions = versions

    def use(self, spec):
        """Give the version that a request asks for."""
        if spec.name != self.versions.name:
            raise RunError(NOT_FOUND, f"Servable not found for request: {spec.name}")
        number = spec.version.value if spec.HasField("version") else None
        return self.versions.use(number)

    @answered
    def Predict(self, request):
        """Run a signature."""
        signature = request.model_spec.signature_name or "serving_default"
        with self.use(request.model_spec) as version:
            inputs = {name: array_of(x) for name, x in request.inputs.items()}
            outputs = version.session.run(signature, inputs)
        response = predict_pb2.PredictResponse()
        response.model_spec.name = self.versions.name
        response.model_spec.version.value = version.number
        response.model_spec.signature_name = signature
        for name, array in outputs.items():
            if not request.output_filter or name in request.output_filter:
                response.outputs[name].CopyFrom(message_of(array))
        return response

    @answered
    def GetModelMetadata(self, request):
        """Return the signatures."""
        response = get_model_metadata_pb2.GetModelMetadataResponse()
        signatures = get_model_metadata_pb2.SignatureDefMap()
        with self.use(request.model_spec) as version:
            for name, signature in version.session.signatures.items():
                signatures.signature_def[name].CopyFrom(signature)
            response.model_spec.version.value = version.number
        response.model_spec.name = self.versions.name
        response.metadata["signature_def"].Pack(signatures)
        return response

    @answered
    def GetModelStatus(self, request):
        """Return the version and that it is available."""
        response = get_model_status_pb2.GetModelStatusResponse()
        with self.use(request.model_spec) as version:
            status = response.model_version_status.add()
            status.version, status.state = version.number, AVAILABLE
        return response


def rest_handler(versions):
    """Return a class that answers the REST calls."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            size = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(size)
            self.answer(self.predict, body)

        def do_GET(self):
            self.answer(self.describe)

        def predict(self, match, body):
            if match["call"] != ":predict":
                raise RunError(NOT_FOUND, "Malformed request")
            try:
                body = json.loads(body)
            except ValueError as error:
                raise RunError(3, f"JSON Parse error: {error}") from error
            with self.use(match) as version:
                name = "serving_default"
                if isinstance(body, dict):
                    name = body.get("signature_name", name)
                signature = version.session.signatures.get(name)
                if signature is None:
                    raise RunError(3, f"Serving signature key {name!r} not found.")
                inputs, by_row = inputs_of(body, signature)
                return json_of(version.session.run(name, inputs), by_row)

        def describe(self, match):
            if match["call"] == ":predict":
                raise RunError(NOT_FOUND, "Malformed request")
            with self.use(match) as version:
                if not match["call"]:
                    state = {"version": str(version.number), "state": "AVAILABLE"}
                    return {"model_version_status": [state]}
                names = sorted(version.session.signatures)
                return {"metadata": {"signature_def": {"signature_def": names}}}

        def use(self, match):
            if match["name"] != versions.name:
                raise RunError(NOT_FOUND, f"Servable not found: {match['name']}")
            return versions.use(int(match["version"]) if match["version"] else None)

        def answer(self, function, *arguments):
            match = PATH.fullmatch(self.path)
            status = 200
            try:
                if not match:
                    raise RunError(NOT_FOUND, f"Malformed request: {self.path}")
                body = function(match, *arguments)
            except RunError as error:
                status = 404 if error.code == NOT_FOUND else 400
                body = {"error": str(error)}
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments):
            pass

    return Handler


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("base")
    parser.add_argument("--intra", type=int, default=0, help="0 for the cores")
    parser.add_argument("--inter", type=int, default=0, help="0 for the cores")
    options = parser.parse_args()
    config = config_pb2.ConfigProto(
        intra_op_parallelism_threads=options.intra,
        inter_op_parallelism_threads=options.inter,
    )
    versions = Versions(Library(), options.base, config)
    services = Services(versions)
    options = [("grpc.max_receive_message_length", 2**28)]
    server = grpc.server(ThreadPoolExecutor(THREADS), options=options)
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        services, server
    )
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(services, server)
    grpc_port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    rest = ThreadingHTTPServer(("127.0.0.1", 0), rest_handler(versions))
    forbidden = {"keras", "tensorflow_text", "keras_transformer"} & set(sys.modules)
    ports = {"grpc": grpc_port, "rest": rest.server_port, "forbidden": list(forbidden)}
    sys.stdout.write(json.dumps(ports) + "\n")
    sys.stdout.flush()
    rest.serve_forever()


if __name__ == "__main__":
    main()
