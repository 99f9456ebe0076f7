"""Translate by a model server's gRPC interface.

It needs TensorFlow Serving's messages: pip install ".[serving]"

    python examples/serving/grpc_client.py "Where is the station?" "Thank you."
"""

import argparse
import sys

import grpc
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc


def main():
    """Ask the server, and print a line for each sentence."""
    parser = argparse.ArgumentParser(description="Translate by gRPC.")
    parser.add_argument("sentences", nargs="+")
    parser.add_argument("--server", default="localhost:8500")
    parser.add_argument("--model", default="es")
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds")
    options = parser.parse_args()
    with grpc.insecure_channel(options.server) as channel:
        try:
            lines = translate(
                channel, options.model, options.sentences, options.timeout
            )
        except grpc.RpcError as error:
            sys.exit(f"{options.server}: {error.code().name}, {error.details()}")
    for line in lines:
        print(line)


def translate(channel, model, sentences, timeout):
    """Translate a list of strings.

    Args:
        channel: an open `grpc.Channel`.
        model: name of the model on the server.
        sentences: list of strings.
        timeout: seconds until `grpc.RpcError` with the code `DEADLINE_EXCEEDED`.

    Returns:
        A list of as many strings.
    """
    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    request.model_spec.signature_name = "serving_default"
    request.inputs["text"].CopyFrom(tf.make_tensor_proto(sentences, tf.string))
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    response = stub.Predict(request, timeout=timeout)
    return [text.decode() for text in response.outputs["translation"].string_val]


if __name__ == "__main__":
    main()
