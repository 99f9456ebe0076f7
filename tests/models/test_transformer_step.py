import numpy as np
import pytest
from keras import ops

from tests.backends import (
    BACKEND,
    array_of,
    assert_close,
    compiled,
    randomize,
)
from tests.models.small import SOURCE, inputs_of, small_transformer

TARGET = np.array([[2, 5, 6, 9], [2, 7, 8, 3]], "int32")
OPTIONS = [
    {},
    {"normalize_first": True, "num_key_value_heads": 1},
    {"position": "learned", "max_length": 5, "normalization": "rms"},
    {"position": None, "target_vocabulary_size": 12},
]


def decode(model, target, rows=1, step=None):
    """Logits of all positions of `target`, step by step."""
    state, shared = model.start(SOURCE, target.shape[1], hypotheses=rows)
    outputs = []
    for i in range(target.shape[1]):
        if step is None:
            logits, state = model.step(target[:, i], state, i, shared, hypotheses=rows)
        else:
            logits, state = step(target[:, i], state, ops.convert_to_tensor(i), shared)
        outputs.append(array_of(logits))
    return np.stack(outputs, axis=1)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_steps_equal_the_whole_pass(options):
    model = randomize(small_transformer(num_layers=2, **options), scale=0.3)
    expected = model(inputs_of(SOURCE, TARGET))
    assert_close(decode(model, TARGET), expected, atol=2e-5)


def test_a_step_takes_the_kernels_that_start_made():
    model = small_transformer(num_layers=1)
    state, shared = model.start(SOURCE, 4)
    own, _ = model.step(TARGET[:, 0], state, 0, shared)
    halves = {**shared, "kernels": [0.5 * kernel for kernel in shared["kernels"]]}
    other, _ = model.step(TARGET[:, 0], state, 0, halves)
    for attention in ("self_attention", "cross_attention"):
        layer = getattr(model.parts.decoder_blocks[0], attention)
        layer.query_dense.kernel.assign(0.5 * layer.query_dense.kernel)
        layer.output_dense.kernel.assign(0.5 * layer.output_dense.kernel)
        if attention == "self_attention":
            layer.key_dense.kernel.assign(0.5 * layer.key_dense.kernel)
            layer.value_dense.kernel.assign(0.5 * layer.value_dense.kernel)
    fresh = {**shared, "kernels": model.start(SOURCE, 4)[1]["kernels"]}
    assert_close(other, model.step(TARGET[:, 0], state, 0, fresh)[0])
    assert np.abs(array_of(other) - array_of(own)).max() > 1e-3


def test_hypotheses_equal_repeated_sources():
    model = small_transformer(num_layers=2)
    target = np.random.default_rng(1).integers(3, 20, (6, 4)).astype("int32")
    expected = model(inputs_of(np.repeat(SOURCE, 3, axis=0), target))
    assert_close(decode(model, target, rows=3), expected, atol=2e-5)


def test_compiled_steps():
    model = small_transformer(num_layers=2)
    expected = model(inputs_of(SOURCE, TARGET))
    assert_close(decode(model, TARGET, step=compiled(model.step)), expected, atol=2e-5)


def test_padding_of_the_source_does_not_matter():
    model = small_transformer(num_layers=1)
    expected = decode(model, TARGET)
    state, shared = model.start(np.pad(SOURCE, ((0, 0), (0, 4))), 4)
    logits, _ = model.step(TARGET[:, 0], state, 0, shared)
    assert_close(logits, expected[:, 0])


def test_a_step_past_the_limit_is_stopped():
    model = small_transformer(num_layers=1)
    state, shared = model.start(SOURCE, 4)
    for index in (4, ops.convert_to_tensor(5)):
        with pytest.raises(ValueError, match=r"`max_length`=4. Received: index="):
            model.step(TARGET[:, 0], state, index, shared)


@pytest.mark.skipif(BACKEND == "torch", reason="PyTorch compiles nothing here")
@pytest.mark.parametrize("position", ["sinusoidal", "learned"])
def test_a_compiled_step_past_the_limit_is_stopped(position):
    length = {"max_length": 6} if position == "learned" else {}
    model = small_transformer(num_layers=1, position=position, **length)
    state, shared = model.start(SOURCE, 4)
    options = {"jit_compile": True} if BACKEND == "tensorflow" else {}
    step = compiled(model.step, **options)
    logits, _ = step(TARGET[:, 0], state, ops.convert_to_tensor(4), shared)
    assert np.isnan(array_of(logits)).all()


def test_more_positions_than_learned():
    model = small_transformer(num_layers=1, position="learned", max_length=6)
    with pytest.raises(ValueError, match=r"`max_length` must not exceed.*: 7\."):
        model.start(SOURCE, 7)


@pytest.mark.parametrize(("at_start", "at_step"), [(2, 3), (2, 1), (1, 2), (3, 2)])
def test_hypotheses_must_stay_as_they_were(at_start, at_step):
    model = small_transformer(num_layers=1)
    state, shared = model.start(SOURCE, 6, hypotheses=at_start)
    ids = np.full(2 * at_step, 2, "int32")
    with pytest.raises(ValueError, match=r"`(hypotheses|lineage)` must be .* Received"):
        model.step(ids, state, 0, shared, hypotheses=at_step)


@pytest.mark.parametrize("shape", [(4, 5), (2, 6), (1, 6), (6,)])
def test_a_lineage_of_another_shape_is_refused(shape):
    model = small_transformer(num_layers=1)
    (_, caches), shared = model.start(SOURCE, 6, hypotheses=2)
    ids, lineage = np.full(4, 2, "int32"), ops.zeros(shape, "int32")
    with pytest.raises(ValueError, match=r"`lineage` must be int32 of shape .*4, 6"):
        model.step(ids, (lineage, caches), 1, shared, hypotheses=2)
    block, cache = model.parts.decoder_blocks[0], {"self": caches[0]}
    cache["cross"] = shared["cross"][0]
    x = np.zeros((4, 1, 16), "float32")
    with pytest.raises(ValueError, match=r"`lineage` must be int32 of shape .*4, 6"):
        block.step(x, cache, 1, hypotheses=2, lineage=lineage)


def test_a_cache_of_other_hypotheses_is_refused():
    block = small_transformer(num_layers=1).parts.decoder_blocks[0]
    cache = block.start(np.zeros((2, 3, 16), "float32"), 6, hypotheses=2)
    with pytest.raises(ValueError, match=r"`hypotheses` must be .* 12 slots\. .*: 5\."):
        block.step(np.zeros((10, 1, 16), "float32"), cache, 0, hypotheses=5)
