"""The ways to train and run a model that Keras offers."""

import keras
import numpy as np
import pytest

from keras_transformer import (
    InverseSqrtSchedule,
    Perplexity,
    RDrop,
    SmoothedCrossEntropy,
    TokenAccuracy,
)
from tests.backends import BACKEND, array_of, assert_close
from tests.models.small import inputs_of, small_transformer

RNG = np.random.default_rng(21)
SOURCE = RNG.integers(3, 20, (16, 5)).astype("int32")
SOURCE[::2, 3:] = 0
LABELS = np.where(SOURCE[:, :4] > 0, SOURCE[:, :4], 0)
TARGET = np.concatenate([np.full((16, 1), 2, "int32"), LABELS[:, :-1]], axis=1)
INPUTS = {"source_ids": SOURCE, "target_ids": TARGET}


def compiled_model(optimizer=None, metrics=(), **options):
    model = small_transformer(num_layers=1, dtype=options.pop("dtype", None))
    model.compile(
        optimizer or keras.optimizers.SGD(0.1), SmoothedCrossEntropy(0.1),
        metrics=list(metrics), **options,
    )  # fmt: skip
    return model


@pytest.mark.parametrize(("jit_compile", "steps"), [(True, 1), (False, 2), ("auto", 1)])
def test_jit_compile_and_steps_per_execution(jit_compile, steps):
    if BACKEND == "torch" and jit_compile is True:
        pytest.skip("torch.compile needs a compiler for C++")
    if BACKEND == "torch" and steps > 1:
        pytest.skip("Keras runs one step at a time on PyTorch")
    model = compiled_model(jit_compile=jit_compile, steps_per_execution=steps)
    logs = model.fit(INPUTS, LABELS, batch_size=8, epochs=3, verbose=0).history
    assert np.isfinite(logs["loss"]).all()
    assert logs["loss"][-1] < logs["loss"][0]


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision(policy):
    keras.mixed_precision.set_global_policy(policy)
    schedule = InverseSqrtSchedule(16, warmup_steps=4)
    optimizer = keras.optimizers.SGD(schedule, momentum=0.9)
    model = compiled_model(optimizer, [TokenAccuracy()], jit_compile=BACKEND == "jax")
    assert model.get_layer("decoder_block_0").compute_dtype == policy[6:]
    logs = model.fit(INPUTS, LABELS, batch_size=8, epochs=6, verbose=0).history
    assert np.isfinite(logs["loss"]).all()
    assert logs["loss"][-1] < logs["loss"][0]
    for weight in model.trainable_weights:
        assert weight.dtype == "float32"
        assert np.isfinite(array_of(weight)).all(), weight.path
    logits = array_of(model(INPUTS))
    assert np.isfinite(logits).all()


@pytest.mark.parametrize("wrapped", [False, True])
def test_losses_of_a_float16_model_are_scaled_whatever_the_global_policy(wrapped):
    model = small_transformer(dtype="mixed_float16")
    model = RDrop(model) if wrapped else model
    model.compile("adam", SmoothedCrossEntropy())
    assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert keras.config.dtype_policy().name == "float32"


def test_evaluate_and_predict_agree():
    metrics = [TokenAccuracy(), Perplexity()]
    model = compiled_model(metrics=metrics, jit_compile=BACKEND == "jax")
    logits = model.predict(INPUTS, batch_size=16, verbose=0)
    assert_close(logits, model(INPUTS), atol=2e-5)
    found = model.evaluate(INPUTS, LABELS, batch_size=4, verbose=0, return_dict=True)
    hits = (logits.argmax(-1) == LABELS)[LABELS != 0]
    assert found["token_accuracy"] == pytest.approx(hits.mean(), abs=1e-6)
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    losses = -np.take_along_axis(logs, LABELS[..., None], -1)[..., 0][LABELS != 0]
    assert found["perplexity"] == pytest.approx(np.exp(losses.mean()), rel=1e-4)


def test_what_stands_at_padding_changes_no_step():
    """Batches that differ in padding only train the same weights."""
    trained = []
    for pads in (0, 3):
        keras.utils.set_random_seed(5)
        model = small_transformer(num_layers=1, position=None)
        model.compile(
            keras.optimizers.SGD(0.5), SmoothedCrossEntropy(0.1),
            jit_compile=BACKEND == "jax",
        )  # fmt: skip
        pad = ((0, 0), (0, pads))
        inputs = inputs_of(np.pad(SOURCE, pad), np.pad(TARGET, pad))
        model.fit(
            inputs, np.pad(LABELS, pad), batch_size=16, epochs=2, shuffle=False,
            verbose=0,
        )  # fmt: skip
        trained.append([array_of(weight) for weight in model.trainable_weights])
    for one, other in zip(*trained, strict=True):
        assert_close(one, other, atol=2e-5)


def test_sample_weights_of_zero_leave_rows_out():
    model = compiled_model(keras.optimizers.SGD(0.5), jit_compile=BACKEND == "jax")
    weights = np.r_[np.ones(8), np.zeros(8)].astype("float32")
    changed = {**INPUTS, "target_ids": TARGET.copy()}
    changed["target_ids"][8:] = 3
    one, other = (
        model.evaluate(x, LABELS, sample_weight=weights, batch_size=16, verbose=0)
        for x in (INPUTS, changed)
    )
    assert one == pytest.approx(other, rel=1e-5)
    assert one > 0
