"""Checks an exported folder as a model server would read it."""

import math
from pathlib import Path

from keras_transformer.export.export_problems import UNKNOWN, problems_of
from keras_transformer.export.export_report import (
    ExportReport,
    SignatureReport,
    TensorReport,
    WarmUpReport,
)
from keras_transformer.export.warm_up import read_warm_up
from keras_transformer.text.optional_imports import require


def check(path):
    """Read an exported version, and report what it offers, needs and gets wrong.

    Nothing is loaded or run: the graph, with the bodies of its functions, is read as it
    lies on the disk.

    Args:
        path: folder of a version, `models/es/1`, or the folder of all of them,
            `models/es`, whose newest version is taken.

    Returns:
        An `ExportReport`; `report.ok` is False for what a server would refuse, and
        `report.problems` says why.

    Raises:
        FileNotFoundError: if there is no exported version.
        ValueError: if `saved_model.pb` cannot be read as one.
    """
    tf = require("tensorflow", "check")
    folder = version_folder(path)
    model = _saved_model(folder / "saved_model.pb")
    graphs = [
        graph for graph in model.meta_graphs if "serve" in graph.meta_info_def.tags
    ]
    if not graphs:
        raise ValueError(
            f"`path` must hold a graph with the tag `serve`. Received: "
            f"{str(folder)!r}, with {len(model.meta_graphs)} graphs."
        )
    graph = graphs[0]
    signatures = {
        name: SignatureReport(_tensors(tf, found.inputs), _tensors(tf, found.outputs))
        for name, found in graph.signature_def.items()
        if not name.startswith("__")  # how the folder is restored, not offered
    }
    operations = _operations(tf, graph.graph_def)
    warm_up = [
        WarmUpReport(signature, [_given(tf, *item) for item in sorted(inputs.items())])
        for signature, inputs in read_warm_up(folder)
    ]
    problems = problems_of(folder, graph, signatures, operations, warm_up)
    return ExportReport(
        path=folder,
        tensorflow=graph.meta_info_def.tensorflow_version,
        signatures=signatures,
        operations=operations,
        warm_up=warm_up,
        bytes=sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()),
        weight_bytes=_weight_bytes(tf, folder),
        problems=problems,
    )


def version_folder(path):
    """Return the folder of a version, the newest one of a folder of versions."""
    path = Path(path)
    if (path / "saved_model.pb").exists():
        return path
    versions = [
        folder
        for folder in (path.iterdir() if path.is_dir() else ())
        if folder.name.isdigit() and (folder / "saved_model.pb").exists()
    ]
    if not versions:
        raise FileNotFoundError(
            f"`path` must be an exported version, or a folder of them. "
            f"Received: {str(path)!r}."
        )
    return max(versions, key=lambda folder: int(folder.name))


def _saved_model(file):
    from google.protobuf.message import DecodeError
    from tensorflow.core.protobuf import saved_model_pb2

    model = saved_model_pb2.SavedModel()
    try:
        model.ParseFromString(file.read_bytes())
    except DecodeError as error:
        raise ValueError(
            f"`path` must hold a SavedModel that can be read. Received: {str(file)!r}."
        ) from error
    return model


def _tensors(tf, infos):
    tensors = []
    for name, info in sorted(infos.items()):
        shape = None
        if not info.tensor_shape.unknown_rank:
            sizes = [dim.size for dim in info.tensor_shape.dim]
            shape = tuple(None if size < 0 else size for size in sizes)
        tensors.append(TensorReport(name, _dtype_name(tf, info.dtype), shape))
    return tensors


def _given(tf, name, tensor):
    sizes = tuple(dim.size for dim in tensor.tensor_shape.dim)
    return TensorReport(name, _dtype_name(tf, tensor.dtype), sizes)


def _dtype_name(tf, number):
    return tf.dtypes.as_dtype(number).name if number else "invalid"


def _operations(tf, graph_def):
    """Names of the operations of a graph and its functions, by library."""
    nodes = [node.op for node in graph_def.node]
    for function in graph_def.library.function:
        nodes += [node.op for node in function.node_def]
    functions = {function.signature.name for function in graph_def.library.function}
    libraries = {}
    for name in sorted(set(nodes) - functions):
        libraries.setdefault(_library(tf, name), []).append(name)
    return dict(sorted(libraries.items()))


def _library(tf, operation):
    if hasattr(tf.raw_ops, operation):
        return "TensorFlow"
    if operation.startswith(("TFText>", "Sentencepiece")):
        return "TensorFlow Text"
    return UNKNOWN


def _weight_bytes(tf, folder):
    if not (folder / "variables" / "variables.index").exists():
        return 0
    reader = tf.train.load_checkpoint(str(folder / "variables" / "variables"))
    dtypes = reader.get_variable_to_dtype_map()
    shapes = reader.get_variable_to_shape_map()
    return sum(
        math.prod(shape) * dtypes[name].size
        for name, shape in shapes.items()
        if dtypes[name] != tf.string  # what the checkpoint says of itself
    )
