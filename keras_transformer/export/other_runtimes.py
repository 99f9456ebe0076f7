"""Export for ONNX Runtime and LiteRT."""

from pathlib import Path

import keras

from keras_transformer.argument_checks import check_positive_integer
from keras_transformer.export.encoder_and_step import encoder_and_step
from keras_transformer.models.transformer import check_transformer
from keras_transformer.text.optional_imports import require
from keras_transformer.whole_folder import whole_folder


def export_onnx(path, model, *, max_length=256):
    """Write the encoder and the decoder step for ONNX Runtime.

    The folder holds `encoder.onnx`, which is run once for a batch of sources, and
    `step.onnx`, which is run for each target position. Tokenizers and the search are
    the caller's. All tensors have names:

    - `encoder` takes `source_ids`, int32 (batch, source), each row with its end and
      padding. It gives everything that a step takes besides `token_ids` and `index`.
    - `step` takes `token_ids`, int32 (batch,), the tokens at position `index`, int32
      (), of which the first is the start token at 0. It gives `logits`, float32
      (batch, vocabulary), of the next tokens, and the caches, as `new_` and the name
      under which the next step takes them.

    What goes from one to the other need not be looked at. It is, for each decoder
    block `i`, in float32:

    - `self_key_i_j` (batch, heads, key_dim, positions) and `self_value_i_j` (batch,
      heads, positions, value_dim), the caches, in blocks `j` that end at 48, 192, 768,
      ..., `max_length` positions;
    - `cross_key_i_0` (batch, heads, key_dim, source) and `cross_value_i_0` (batch,
      heads, source, value_dim), which stay as they are;
    - `source_mask`, bool (batch, source), True at what is no padding; stays as it is.

    The batch and the length of sources are free. A step past `max_length` and an id
    beyond the vocabulary are errors of the runtime; what it makes of negative ones is
    not defined.

    Args:
        path: folder to make.
        model: a `Transformer` on the TensorFlow backend, in float32.
        max_length: number of target positions to make room for, the start included.

    Raises:
        FileExistsError: if `path` exists.
        ImportError: without tf2onnx, `pip install "keras-transformer-layers[onnx]"`.
        RuntimeError: on another backend than TensorFlow.
        TypeError: for another model than a `Transformer`.
        ValueError: for a model of another dtype or of one key and value head, one with
            an operation that ONNX does not have (`activation="gelu"`), a length below
            1, or one of more than the model's positions.
    """
    check_transformer(model)
    _check_backend("export_onnx")
    require("tf2onnx", "export_onnx")
    heads = model.options["num_key_value_heads"] or model.options["num_heads"]
    if heads == 1:
        raise ValueError(
            "`model` must have two key and value heads or more: of a single one's "
            "shapes tf2onnx 1.17 makes wrong ones. Received: 1."
        )
    _write(path, model, "onnx", check_positive_integer("max_length", max_length))


def export_litert(path, model, *, max_length=256, batch_size=1):
    """Write the encoder and the decoder step for LiteRT, formerly TensorFlow Lite.

    The folder holds `encoder.tflite` and `step.tflite`. Each has one signature, whose
    inputs and outputs are those of `export_onnx`. Their operations are LiteRT's own,
    so that a runtime without TensorFlow's ("Flex") will do. The length of sources is
    free; the batch is fixed, since a second free size would need such operations.

    Args:
        path: folder to make.
        model: a `Transformer` on the TensorFlow backend, in float32.
        max_length: number of target positions to make room for, the start included.
        batch_size: number of rows of a batch. Rows of padding alone fill up one with
            fewer sources; they don't change the others.

    Raises:
        FileExistsError: if `path` exists.
        ImportError: with Keras below 3.15.
        RuntimeError: on another backend than TensorFlow.
        TypeError: for another model than a `Transformer`.
        ValueError: for a model of another dtype or a quantized one, a length or batch
            below 1, or a length of more than the model's positions.
    """
    check_transformer(model)
    _check_backend("export_litert")
    if tuple(map(int, keras.__version__.split(".")[:2])) < (3, 15):
        raise ImportError(
            "`export_litert` needs Keras 3.15. Install it with: pip install "
            f'"keras>=3.15". Received: {keras.__version__}.'
        )
    if any(weight.dtype == "int8" for weight in model.weights):
        raise ValueError(
            "`model` must not be quantized: LiteRT has no product of its integers. "
            "Received: a model with int8 weights."
        )
    tf = require("tensorflow", "export_litert")
    _write(
        path,
        model,
        "litert",
        check_positive_integer("max_length", max_length),
        check_positive_integer("batch_size", batch_size),
        target_spec={"supported_ops": [tf.lite.OpsSet.TFLITE_BUILTINS]},
    )


def _write(path, model, kind, max_length, batch_size=None, **options):
    path = Path(path)
    if path.exists():
        raise FileExistsError(f"`path` must not exist yet. Received: {str(path)!r}.")
    if model.dtype_policy.name != "float32":
        raise ValueError(
            "`model` must have the dtype policy float32, which a model of the same "
            f"options can be given the weights of. Received: {model.dtype_policy.name}."
        )
    if model.max_length is not None and max_length > model.max_length:
        raise ValueError(
            f"`max_length` must not exceed the model's {model.max_length} positions. "
            f"Received: {max_length}."
        )
    ending = {"onnx": "onnx", "litert": "tflite"}[kind]
    names = "encoder", "step"
    parts = encoder_and_step(model, max_length, batch_size)
    with whole_folder(path) as folder:
        for name, part in zip(names, parts, strict=True):
            part.export(
                str(folder / f"{name}.{ending}"),
                format=kind,
                verbose=False,
                input_signature=[
                    {
                        # Given, since the sizes that Keras would guess are others.
                        key: keras.InputSpec(
                            shape=tensor.shape, dtype=tensor.dtype, name=key
                        )
                        for key, tensor in part.input.items()
                    }
                ],
                **options,
            )
            if kind == "onnx":
                _check_operations(folder / f"{name}.onnx")


def _check_operations(file):
    """Raise `ValueError` if a converter has left what no runtime of ONNX knows."""
    onnx = require("onnx", "export_onnx")
    graph = onnx.load(str(file), load_external_data=False)
    unknown = {
        node.op_type
        for node in graph.graph.node
        if not node.domain and not onnx.defs.has(node.op_type)
    }
    if unknown:
        raise ValueError(
            "`model` must consist of operations that ONNX has. Received: "
            f"{', '.join(sorted(unknown))} in the {file.stem}."
        )


def _check_backend(user):
    if keras.backend.backend() != "tensorflow":
        raise RuntimeError(
            f"`{user}` runs on the TensorFlow backend. Save the model, then load and "
            "export it with KERAS_BACKEND=tensorflow. "
            f"Received: the {keras.backend.backend()} backend."
        )
