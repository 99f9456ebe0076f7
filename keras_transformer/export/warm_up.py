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
            writer.write(prediction_log("serving_default", {"text": tensor}))


def read_warm_up(folder):
    """Read warm-up records back.

    Args:
        folder: the SavedModel's folder.

    Returns:
        A list of signature names and dictionaries of `TensorProto` by input.

    Raises:
        ValueError: for a file that is none of records, or a record that is no
            prediction request.
    """
    tf = require("tensorflow", "check")
    file = Path(folder) / WARM_UP
    if not file.exists():
        return []
    try:
        records = list(tf.data.TFRecordDataset(str(file)).as_numpy_iterator())
    except tf.errors.DataLossError as error:
        raise ValueError(
            f"`{WARM_UP}` must be a file of records. Received: {error.message}."
        ) from error
    return [_request(record) for record in records]


def _request(record):
    from tensorflow.core.framework import tensor_pb2

    try:
        (log,) = [value for number, value in _fields(record) if number == 6]
        (request,) = [value for number, value in _fields(log) if number == 1]
        signature, inputs = "serving_default", {}
        for number, value in _fields(request):
            if number == 1:  # model_spec
                names = [name for key, name in _fields(value) if key == 3]
                signature = names[0].decode() if names else signature
            elif number == 2:  # inputs
                entry = dict(_fields(value))
                tensor = tensor_pb2.TensorProto.FromString(entry[2])
                inputs[entry[1].decode()] = tensor
    except (IndexError, KeyError, ValueError) as error:
        raise ValueError(
            f"Warm-up records must be prediction requests. Received: {record[:40]!r}."
        ) from error
    return signature, inputs


def prediction_log(signature, inputs):
    """Encode a `PredictionLog` with a request of a signature.

    Args:
        signature: its name.
        inputs: dictionary of `TensorProto`.
    """
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


def _fields(data):
    """Decode the length-delimited fields of a message to (number, content)."""
    fields, place = [], 0
    while place < len(data):
        tag, place = _read_varint(data, place)
        if tag & 7 != 2:
            raise ValueError(f"a field of wire type {tag & 7}")
        size, place = _read_varint(data, place)
        if place + size > len(data):
            raise ValueError("a field beyond the end")
        fields.append((tag >> 3, data[place : place + size]))
        place += size
    return fields


def _read_varint(data, place):
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
