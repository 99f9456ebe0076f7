"""Requests that a model server answers before it takes others."""

from pathlib import Path

from keras_transformer.text.optional_imports import require

WARM_UP = Path("assets.extra") / "tf_serving_warmup_requests"


def write_warm_up(folder, texts):
    """Write warm-up records for the text signature, one request a list of texts.

    The records are TensorFlow Serving's `PredictionLog` messages. They are written
    field by field, since its own package of messages is large and seldom installed.

    Args:
        folder: the SavedModel's folder.
        texts: list of lists of strings.
    """
    tf = require("tensorflow", "export")
    file = Path(folder) / WARM_UP
    file.parent.mkdir(parents=True, exist_ok=True)
    with tf.io.TFRecordWriter(str(file)) as writer:
        for batch in texts:
            tensor = tf.make_tensor_proto(batch, dtype=tf.string)
            writer.write(_prediction_log("serving_default", {"text": tensor}))


def _prediction_log(signature, inputs):
    model_spec = _field(3, signature.encode())  # ModelSpec.signature_name
    request = _field(1, model_spec)  # PredictRequest.model_spec
    for name, tensor in inputs.items():
        entry = _field(1, name.encode()) + _field(2, tensor.SerializeToString())
        request += _field(2, entry)  # PredictRequest.inputs
    return _field(6, _field(1, request))  # PredictionLog.predict_log.request


def _field(number, content):
    """Encode a length-delimited field of a protocol buffer."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value):
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])
