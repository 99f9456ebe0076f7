"""What a model server would refuse in an exported folder."""

from pathlib import Path

DEFAULT = "serving_default"
UNKNOWN = "an unknown library"
# They call back into a Python process, which a server is not.
PYTHON_OPERATIONS = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}


def problems_of(folder, graph, signatures, operations, warm_up):
    """Return a sentence for each problem.

    Args:
        folder: of the version, a `pathlib.Path`.
        graph: its `MetaGraphDef`.
        signatures: `SignatureReport` by name.
        operations: names of operations by library.
        warm_up: list of `WarmUpReport`.
    """
    return [
        *_problems_of_name(folder),
        *_problems_of_signatures(signatures),
        *_problems_of_encodings(graph.signature_def),
        *_problems_of_operations(operations),
        *_problems_of_files(folder, graph),
        *_problems_of_warm_up(warm_up, signatures),
    ]


def _problems_of_name(folder):
    if not folder.resolve().name.isdigit():
        yield (
            "A server takes only folders named by a number for versions. "
            f"Received: {folder.resolve().name}."
        )


def _problems_of_signatures(signatures):
    if DEFAULT not in signatures:
        yield (
            f"Requests that name no signature go to {DEFAULT}, which is missing. "
            f"Received: {', '.join(sorted(signatures)) or 'none'}."
        )
    for name, signature in sorted(signatures.items()):
        for tensor in (*signature.inputs, *signature.outputs):
            if tensor.dtype == "invalid":
                yield f"In {name}, `{tensor.name}` has no dtype."
            if not tensor.shape or tensor.shape[0] is not None:
                yield (
                    f"In {name}, the first dimension of `{tensor.name}` must be a "
                    "batch of any size, for the server to batch requests. "
                    f"Received: {tensor}."
                )


def _problems_of_encodings(signature_defs):
    for name, signature in sorted(signature_defs.items()):
        for tensors in (signature.inputs, signature.outputs):
            for key, info in sorted(tensors.items()):
                encoding = info.WhichOneof("encoding")
                if encoding not in (None, "name"):
                    yield (
                        f"In {name}, `{key}` is no plain tensor, which the server's "
                        f"interface cannot carry. Received: {encoding}."
                    )


def _problems_of_operations(operations):
    for library, names in operations.items():
        python = sorted(PYTHON_OPERATIONS.intersection(names))
        if python:
            yield f"Operations that run Python: {', '.join(python)}."
        if library == UNKNOWN:
            yield f"Operations that no server is known to have: {', '.join(names)}."


def _problems_of_files(folder, graph):
    for asset in graph.asset_file_def:
        name = Path(asset.filename)
        if name.is_absolute() or ".." in name.parts:
            yield f"An asset lies outside of the folder. Received: {asset.filename}."
        elif not (folder / "assets" / name).exists():
            yield f"The asset {asset.filename} is missing in {folder / 'assets'}."
    if not (folder / "variables" / "variables.index").exists():
        nodes = [node.op for node in graph.graph_def.node]
        if "VarHandleOp" in nodes:
            yield f"The variables are missing in {folder / 'variables'}."


def _problems_of_warm_up(requests, signatures):
    for number, request in enumerate(requests):
        signature = signatures.get(request.signature)
        where = f"Warm-up request {number}"
        if signature is None:
            yield f"{where} asks for {request.signature}, which is no signature."
            continue
        wanted = {tensor.name: tensor.dtype for tensor in signature.inputs}
        given = {tensor.name: tensor.dtype for tensor in request.inputs}
        if given != wanted:
            yield f"{where} must give {wanted}. Received: {given}."
