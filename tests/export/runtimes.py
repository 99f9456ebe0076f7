"""Models to export, and what runs them in ONNX Runtime, LiteRT and NumPy."""

import numpy as np
import pytest

from keras_transformer import Transformer
from keras_transformer.export import export_litert, export_onnx
from tests.backends import randomize

VOCABULARY_SIZE = 23
MODELS = {
    "paper": {"max_target": 20, "seed": 21},
    "pre-norm, learned, two blocks of cache": {
        "max_target": 52,
        "seed": 9,
        "num_layers": (1, 2),
        "normalize_first": True,
        "position": "learned",
        "max_length": 60,
    },
    "untied, grouped, rms": {
        "max_target": 20,
        "seed": 57,
        "num_layers": (2, 1),
        "tie_embeddings": "none",
        "target_vocabulary_size": 19,
        "num_heads": 4,
        "num_key_value_heads": 2,
        "normalization": "rms",
    },
}
LENGTHS = [3, 18, 1, 7]  # of the sources, their end included


def random_model(*, seed=0, **options):
    size = {"num_layers": 1, "hidden_dim": 8, "num_heads": 2, "intermediate_dim": 12}
    model = Transformer(VOCABULARY_SIZE, dropout=0.1, **{**size, **options})
    return randomize(model, seed)


def random_sources():
    rng = np.random.default_rng(7)
    source_ids = rng.integers(3, VOCABULARY_SIZE, (len(LENGTHS), max(LENGTHS)))
    for row, length in enumerate(LENGTHS):
        source_ids[row, length - 1], source_ids[row, length:] = 1, 0
    return source_ids.astype("int32")


def random_targets(model, length):
    rng = np.random.default_rng(8)
    target_ids = rng.integers(3, model.target_vocabulary_size, (len(LENGTHS), length))
    target_ids[:, 0] = 2
    return target_ids.astype("int32")


def read(encode, step, source_ids, target_ids):
    """Logits after each position of targets, step by step."""
    state, logits = encode({"source_ids": source_ids}), []
    for index in range(target_ids.shape[1]):
        found = step(
            {"token_ids": target_ids[:, index], "index": np.int32(index), **state}
        )
        logits.append(found.pop("logits"))
        state |= {name.removeprefix("new_"): cache for name, cache in found.items()}
    return np.stack(logits, axis=1)


def greedy(encode, step, source_ids, max_length):
    """The ids that `GreedySearch` finds, each source up to a limit of its own."""
    limits = np.minimum(2 * (source_ids != 0).sum(axis=1) + 16, max_length)
    state = encode({"source_ids": source_ids})
    ids = np.zeros((len(source_ids), max_length), "int32")
    ids[:, 0] = 2
    for index in range(max_length - 1):
        found = step({"token_ids": ids[:, index], "index": np.int32(index), **state})
        logits = found.pop("logits")
        state |= {name.removeprefix("new_"): cache for name, cache in found.items()}
        unfinished = (ids != 1).all(axis=1) & (index + 1 < limits)
        logits[:, 0] = -np.inf  # padding is never generated
        ids[:, index + 1] = np.where(unfinished, logits.argmax(axis=1), 0)
    return ids


class Onnx:
    """The two files in ONNX Runtime, as functions of dictionaries of arrays."""

    def __init__(self, folder, model, max_length):
        pytest.importorskip("tf2onnx")
        onnxruntime = pytest.importorskip("onnxruntime")
        export_onnx(folder, model, max_length=max_length)
        self.sessions = {
            name: onnxruntime.InferenceSession(folder / f"{name}.onnx")
            for name in ("encoder", "step")
        }

    def encode(self, inputs):
        return self._run("encoder", inputs)

    def step(self, inputs):
        return self._run("step", inputs)

    def _run(self, name, inputs):
        session = self.sessions[name]
        inputs = {name: np.asarray(array) for name, array in inputs.items()}
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, inputs), strict=True))


class LiteRT:
    """The two files in LiteRT, for batches of the size of `LENGTHS`."""

    def __init__(self, folder, model, max_length):
        litert = pytest.importorskip("ai_edge_litert.interpreter")
        export_litert(folder, model, max_length=max_length, batch_size=len(LENGTHS))
        self.interpreters = {
            name: litert.Interpreter(str(folder / f"{name}.tflite"))
            for name in ("encoder", "step")
        }

    def encode(self, inputs):
        return self.interpreters["encoder"].get_signature_runner()(**inputs)

    def step(self, inputs):
        return self.interpreters["step"].get_signature_runner()(**inputs)
