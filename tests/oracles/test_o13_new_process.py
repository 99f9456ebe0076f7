"""O13: a saved model means the same in a process that knows nothing of it."""

import os
import subprocess
import sys
import textwrap

import keras
import numpy as np
import pytest

from keras_transformer import (
    EncoderBlock,
    MultiHeadAttention,
    SmoothedCrossEntropy,
    TokenAccuracy,
)
from tests.backends import BACKEND, array_of
from tests.models.small import SOURCE, TARGET, inputs_of, small_transformer

SCRIPT = """
    import sys, numpy as np, keras, keras_transformer
    folder = sys.argv[1]
    model = keras.saving.load_model(folder + "/model.keras")
    arrays = np.load(folder + "/inputs.npz")
    assert keras.config.dtype_policy().name == "float32"
    assert type(model) is keras_transformer.Transformer
    assert model.get_layer("encoder_block_1").dtype_policy.name == "mixed_float16"
    assert model.parts.output_embedding is model.parts.source_embedding
    assert isinstance(model.loss, keras_transformer.SmoothedCrossEntropy)
    logits = keras.ops.convert_to_numpy(
        keras.ops.cast(model({k: arrays[k] for k in arrays.files}), "float32")
    )
    counts = len(model.weights), len(model.optimizer.variables)
    steps = int(keras.ops.convert_to_numpy(model.optimizer.iterations))
    both = keras.saving.load_model(folder + "/both.keras")
    kinds = [type(both.get_layer(name)) for name in ("theirs", "ours", "block")]
    assert kinds == [
        keras.layers.MultiHeadAttention,
        keras_transformer.MultiHeadAttention,
        keras_transformer.EncoderBlock,
    ], kinds
    output = keras.ops.convert_to_numpy(both(arrays["source_ids"]))
    slots = {
        f"slot{i}": keras.ops.convert_to_numpy(variable)
        for i, variable in enumerate(model.optimizer.variables)
    }
    np.savez(
        folder + "/out.npz",
        logits=logits,
        counts=counts,
        steps=steps,
        output=output,
        **slots,
    )
"""


def trained_model():
    model = small_transformer(num_layers=2, dtype="mixed_float16")
    model.compile(
        keras.optimizers.SGD(0.1, momentum=0.9), SmoothedCrossEntropy(0.1),
        metrics=[TokenAccuracy()], jit_compile=BACKEND == "jax",
    )  # fmt: skip
    model.fit(inputs_of(), TARGET, epochs=2, verbose=0)
    return model


def both_kinds_of_attention():
    ids = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(20, 8)(ids)
    x = keras.layers.MultiHeadAttention(2, 4, name="theirs")(x, x)
    x = MultiHeadAttention(2, 4, name="ours")(x, x)
    return keras.Model(ids, EncoderBlock(2, 16, name="block")(x))


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """Outputs of this process, and of a new one that loads the same files."""
    folder = tmp_path_factory.mktemp("models")
    model, both = trained_model(), both_kinds_of_attention()
    model.save(folder / "model.keras")
    both.save(folder / "both.keras")
    np.savez(folder / "inputs.npz", **inputs_of())
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(folder)]
    # The setting that tests.backends makes: other code may differ in the last bit.
    env = {**os.environ, "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    return model, both, dict(np.load(folder / "out.npz"))


def test_outputs_are_equal(loaded):
    model, both, out = loaded
    difference = np.abs(array_of(model(inputs_of())) - out["logits"]).max()
    assert difference == 0.0
    assert np.abs(array_of(both(SOURCE)) - out["output"]).max() == 0.0


def test_variables_and_steps_are_equal(loaded):
    model, _, out = loaded
    assert list(out["counts"]) == [len(model.weights), len(model.optimizer.variables)]
    assert out["steps"] == int(array_of(model.optimizer.iterations)) == 2
    momenta = 0
    for i, variable in enumerate(model.optimizer.variables):
        value = array_of(variable)
        np.testing.assert_array_equal(out[f"slot{i}"], value)
        momenta += "momentum" in variable.path and value.any()
    assert momenta == len(model.trainable_variables)
