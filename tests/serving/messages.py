"""Tensors as protocol buffers and as JSON, without TensorFlow's Python package."""

import base64

import numpy as np

from tests.serving.c_session import DTYPES, STRING, RunError

INVALID_ARGUMENT = 3
FIELDS = {1: "float_val", 3: "int_val", 9: "int64_val", 10: "bool_val"}


def array_of(tensor):
    """Read a `TensorProto`."""
    shape = [dim.size for dim in tensor.tensor_shape.dim]
    count = int(np.prod(shape, dtype=np.int64))
    if tensor.dtype == STRING:
        values = np.array([*tensor.string_val, None], dtype=object)[:-1]
    elif tensor.dtype not in DTYPES:
        raise RunError(INVALID_ARGUMENT, f"Unsupported dtype {tensor.dtype}.")
    elif tensor.tensor_content:
        values = np.frombuffer(tensor.tensor_content, DTYPES[tensor.dtype])
    else:
        field = getattr(tensor, FIELDS[tensor.dtype])
        values = np.array(field, DTYPES[tensor.dtype])
    if len(values) == 1 and count > 1:
        values = np.repeat(values, count)
    if len(values) != count:
        raise RunError(INVALID_ARGUMENT, f"{len(values)} values for shape {shape}.")
    return values.reshape(shape)


def message_of(array):
    """Make a `TensorProto`."""
    from tensorflow.core.framework import tensor_pb2

    tensor = tensor_pb2.TensorProto()
    for size in array.shape:
        tensor.tensor_shape.dim.add(size=size)
    if array.dtype == object:
        tensor.dtype = STRING
        tensor.string_val.extend(array.ravel())
        return tensor
    (tensor.dtype,) = (number for number, kind in DTYPES.items() if array.dtype == kind)
    tensor.tensor_content = array.tobytes()
    return tensor


def inputs_of(body, signature):
    """Read the inputs of a REST request, by row or by column.

    Returns:
        Arrays by name, and whether the request was by row.
    """
    if not isinstance(body, dict) or ("instances" in body) == ("inputs" in body):
        raise RunError(INVALID_ARGUMENT, "Missing 'inputs' or 'instances' key")
    names = list(signature.inputs)
    if "inputs" in body:
        columns = body["inputs"]
        if not _by_name(columns):
            columns = {_only(names): columns}
    else:
        rows = body["instances"]
        if not isinstance(rows, list) or not rows:
            raise RunError(INVALID_ARGUMENT, "'instances' must be a list with rows")
        if not all(map(_by_name, rows)):
            rows = [{_only(names): row} for row in rows]
        columns = {name: [row.get(name) for row in rows] for name in rows[0]}
    unknown = set(columns) - set(names)
    if unknown:
        raise RunError(INVALID_ARGUMENT, f"JSON object: does not have named input: "
                       f"{unknown.pop()}")  # fmt: skip
    arrays = {
        name: _array(values, signature.inputs[name].dtype)
        for name, values in columns.items()
    }
    return arrays, "instances" in body


def json_of(arrays, by_row):
    """Return the body of an answer."""
    columns = {name: _plain(array) for name, array in arrays.items()}
    if not by_row:
        return {"outputs": _single(columns)}
    rows = [
        _single(dict(zip(columns, row, strict=True)))
        for row in zip(*columns.values(), strict=True)
    ]
    return {"predictions": rows}


def _by_name(value):
    return isinstance(value, dict) and set(value) != {"b64"}


def _only(names):
    if len(names) != 1:
        raise RunError(INVALID_ARGUMENT, f"Name the inputs: {', '.join(names)}.")
    return names[0]


def _single(values):
    return next(iter(values.values())) if len(values) == 1 else values


def _array(values, dtype):
    if dtype == STRING:
        return _bytes_array(values)
    try:
        array = np.array(values)
        if array.size and array.dtype.kind not in "iufb":
            raise ValueError
        return array.astype(DTYPES[dtype])
    except ValueError as error:
        raise RunError(INVALID_ARGUMENT, "JSON Value: not a tensor") from error


def _bytes_array(values):
    shape, level = [], values
    while isinstance(level, list):
        shape.append(len(level))
        level = level[0] if level else None
    flat = list(_flat(values))
    array = np.empty(len(flat), dtype=object)
    for place, value in enumerate(flat):
        if isinstance(value, dict):
            array[place] = base64.b64decode(value["b64"])
        elif isinstance(value, str):
            array[place] = value.encode()
        else:
            raise RunError(INVALID_ARGUMENT, f"JSON Value: {value!r} is not a string")
    try:
        return array.reshape(shape)
    except ValueError as error:
        raise RunError(INVALID_ARGUMENT, "JSON Value: not a tensor") from error


def _flat(values):
    if isinstance(values, list):
        for value in values:
            yield from _flat(value)
    else:
        yield values


def _plain(array):
    if array.dtype != object:
        return array.tolist()
    texts = np.array([value.decode() for value in array.ravel()] + [None], object)[:-1]
    return texts.reshape(array.shape).tolist()
