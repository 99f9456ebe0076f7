"""The same answer eager, compiled and exported."""

import numpy as np
import pytest
from keras import ops

from keras_transformer.decoding import BeamSearch, GreedySearch, Sampling, SearchResult
from tests.decoding.tables import (
    as_numpy,
    assert_same,
    compiled,
    log_table,
    table_step,
)

ALL = [
    GreedySearch(no_repeat_ngram=2, min_length=1),
    BeamSearch(num_beams=3, n_best=2, banned_tokens=[4]),
    BeamSearch(num_beams=4, n_best=4, no_repeat_ngram=2, min_length=2),
    Sampling(temperature=1.5, top_k=4, top_p=0.9, seed=5, no_repeat_ngram=3),
]
each_search = pytest.mark.parametrize("search", ALL, ids=repr)
TABLE = np.random.default_rng(3).normal(size=(6, 6)).astype("float32")
WEIGHTS = np.random.default_rng(4).normal(size=(6, 6)).astype("float32")
STARTS = np.array([2, 3, 5, 2, 4], "int32")


def memory_step(token_ids, state, index):
    """A cache written at `index` and a running mean, as a decoder would have."""
    cache, (mean, nothing) = state["cache"], state["rest"]
    here = ops.arange(cache.shape[1], dtype="int32") == index
    embedded = ops.take(ops.convert_to_tensor(TABLE), token_ids, axis=0)
    cache = ops.where(here[None, :, None], embedded[:, None, :], cache)
    mean = 0.5 * mean + 0.5 * embedded
    logits = ops.matmul(ops.sum(cache, axis=1) + mean, ops.convert_to_tensor(WEIGHTS))
    return logits, {"cache": cache, "rest": (mean, nothing)}


def runner(search, prefixed=False):
    def run(start_ids):
        batch = ops.shape(start_ids)[0]
        state = {
            "cache": ops.zeros((batch, 9, 6)),
            "rest": (ops.zeros((batch, 6)), None),
        }
        if prefixed:
            start_ids = ops.stack([start_ids, ops.flip(start_ids)], axis=1)
        return search(memory_step, state, start_ids, max_length=9)

    return run


@each_search
@pytest.mark.parametrize("prefixed", [False, True])
def test_compiled_equals_eager(search, prefixed):
    run = runner(search, prefixed)
    assert_same(compiled(run)(STARTS), run(STARTS))


@each_search
def test_each_row_alone_equals_the_batch(search):
    if isinstance(search, Sampling):
        pytest.skip("the draws depend on the batch size")
    run = compiled(runner(search))
    together = as_numpy(run(STARTS))
    for row in range(len(STARTS)):
        alone = run(STARTS[row : row + 1])
        assert_same(alone, SearchResult(*(value[row : row + 1] for value in together)))


def test_compiled_result_has_static_shapes():
    shapes = []

    def run(start_ids):
        result = BeamSearch(n_best=3)(
            table_step(log_table({2: {1: 1}})), None, start_ids, max_length=6
        )
        shapes.append([tuple(value.shape)[1:] for value in result])
        return result

    compiled(run)(STARTS)
    assert shapes == [[(3, 6)] + [(3,)] * 4]


@pytest.mark.tensorflow_only
@each_search
@pytest.mark.parametrize("prefixed", [False, True])
@pytest.mark.parametrize("jit_compile", [False, True])
def test_tf_function_with_unknown_batch(search, prefixed, jit_compile):
    import tensorflow as tf

    run = runner(search, prefixed)
    signature = [tf.TensorSpec([None], "int32")]
    graph = tf.function(run, input_signature=signature, jit_compile=jit_compile)
    # XLA draws other random numbers than TensorFlow's own kernels.
    expected = graph if jit_compile and isinstance(search, Sampling) else run
    for batch in (5, 1, 0):
        assert_same(graph(STARTS[:batch]), expected(STARTS[:batch]))


@pytest.mark.tensorflow_only
@each_search
def test_saved_model_with_unknown_batch(search, tmp_path):
    import tensorflow as tf

    run = runner(search)
    module = tf.Module()
    module.search = tf.function(
        lambda start_ids: run(start_ids)._asdict(),
        input_signature=[tf.TensorSpec([None], "int32")],
    )
    signatures = {"serving_default": module.search}
    tf.saved_model.save(module, str(tmp_path), signatures=signatures)
    served = tf.saved_model.load(str(tmp_path)).signatures["serving_default"]
    for batch in (5, 1, 0):
        result = served(start_ids=tf.constant(STARTS[:batch]))
        assert_same(SearchResult(**result), run(STARTS[:batch]))


@pytest.mark.tensorflow_only
def test_exported_graph_holds_core_operations_only():
    import tensorflow as tf

    signature = [tf.TensorSpec([None], "int32")]
    for search in ALL:
        graph = tf.function(runner(search, True), input_signature=signature)
        definition = graph.get_concrete_function().graph.as_graph_def()
        nodes = [node.op for node in definition.node]
        nodes += [n.op for f in definition.library.function for n in f.node_def]
        assert not [op for op in nodes if op.startswith("Xla") or op == "PyFunc"]


@pytest.mark.tensorflow_only
def test_a_state_that_loses_its_static_shape_is_held_to_it():
    import tensorflow as tf

    def step(token_ids, state, index):
        forgotten = tf.numpy_function(lambda x: x + 1, [state], tf.float32)
        forgotten = tf.ensure_shape(forgotten, [None, None])
        return table_step(TABLE)(token_ids, state, index)[0], forgotten

    @tf.function
    def run(start_ids):
        return BeamSearch()(step, tf.zeros((5, 3)), start_ids, max_length=4)

    assert as_numpy(run(STARTS)).ids.shape == (5, 1, 4)


@pytest.mark.tensorflow_only
def test_an_unknown_prefix_length_is_refused():
    import tensorflow as tf

    run = tf.function(
        lambda ids: GreedySearch()(memory_step, None, ids, max_length=4),
        input_signature=[tf.TensorSpec([None, None], "int32")],
    )
    with pytest.raises(ValueError, match=r"`start_ids` must have a known prefix len"):
        run.get_concrete_function()
