import numpy as np
import pytest
from keras import ops

from keras_transformer import SmoothedCrossEntropy
from keras_transformer.training.reused_array import add_in_rows, after
from tests.backends import array_of, assert_close, compiled, gradients

RNG = np.random.default_rng(5)
COLUMNS = np.array([[[2], [0]], [[3], [3]]], "int32")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_add_in_rows(dtype):
    x = RNG.integers(-9, 9, (2, 2, 4)).astype("float32")
    values = np.array([[[1], [2]], [[3], [4]]], "float32")
    arrays = [ops.cast(array, dtype) for array in (x, values)]
    expected = x + values * np.eye(4)[COLUMNS[..., 0]]
    function = compiled(lambda x, values: add_in_rows(x, COLUMNS, values))
    for found in (function(*arrays), add_in_rows(arrays[0], COLUMNS, arrays[1])):
        assert found.shape == x.shape
        assert_close(found, expected)
        assert_close(array_of(arrays[0]), x)  # which is still in use


def test_after_is_the_same():
    x = RNG.normal(size=(2, 3)).astype("float32")
    found = compiled(lambda x: after([ops.sum(x)], ops.convert_to_tensor(x)))(x)
    assert_close(found, x)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.tensorflow_only
def test_xla_has_the_same_gradient(smoothing):
    labels = RNG.integers(0, 7, (3, 5))
    logits = RNG.normal(size=(3, 5, 7)).astype("float32")
    loss = SmoothedCrossEntropy(smoothing)

    def gradient(logits):
        import tensorflow as tf

        with tf.GradientTape() as tape:
            tape.watch(logits)
            value = loss(labels, logits)
        return tape.gradient(value, logits)

    (expected,) = gradients(lambda x: loss(labels, x), logits)
    for options in ({}, {"jit_compile": True}):
        found = compiled(gradient, **options)(ops.convert_to_tensor(logits))
        assert_close(found, expected, atol=1e-7)


@pytest.fixture(params=[0.0, 0.1])
def loss_graph(request):
    """A graph of the gradients of a loss, its values, and the bytes of its logits."""
    import tensorflow as tf

    rows, width, vocabulary = 24, 5, 991
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder("float32", (rows, width))
        table = tf.compat.v1.placeholder("float32", (width, vocabulary))
        labels = tf.compat.v1.placeholder("int32", (rows,))
        weight = tf.compat.v1.placeholder("float32", (rows,))
        loss = SmoothedCrossEntropy(request.param)
        value = loss(labels, tf.matmul(x, table), sample_weight=weight)
        fetches = tf.gradients(value, [x, table])
    feeds = {
        x: RNG.normal(size=x.shape),
        table: RNG.normal(size=table.shape),
        labels: RNG.integers(1, vocabulary, rows),
        weight: RNG.random(rows),
    }
    return graph, fetches, feeds, 4 * rows * vocabulary


@pytest.mark.tensorflow_only
def test_one_array_of_the_size_of_the_logits(loss_graph):
    import tensorflow as tf

    graph, fetches, feeds, size = loss_graph
    recorded = tf.compat.v1.RunMetadata()
    options = tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE)
    with tf.compat.v1.Session(graph=graph) as session:
        session.run(fetches, feeds, options, recorded)
    outputs = {
        node.node_name: output.tensor_description.allocation_description
        for device in recorded.step_stats.dev_stats
        for node in device.node_stats
        for output in node.output
    }
    written = {
        name: memory.ptr
        for name, memory in outputs.items()
        if memory.requested_bytes == size
    }
    assert len(written) >= 4, written  # logits, softmax, and the passes of the gradient
    assert len(set(written.values())) == 1, written


@pytest.mark.tensorflow_only
def test_an_array_is_read_before_it_is_written(loss_graph):
    graph, _, _, size = loss_graph
    checked, only_read = 0, {"MatMul", "IdentityN"}
    for operation in graph.get_operations():
        for tensor in operation.outputs:
            users = [op for op in tensor.consumers() if op.type not in only_read]
            if len(users) < 2 or tensor.dtype.size * tensor.shape.num_elements() < size:
                continue
            checked += 1
            assert any(set(users) <= {user, *ancestors(user)} for user in users), tensor
    assert checked >= 2  # the logits and their softmax


def ancestors(operation):
    """All that an operation waits for."""
    found, waiting = set(), [operation]
    while waiting:
        one = waiting.pop()
        before = {tensor.op for tensor in one.inputs} | set(one.control_inputs)
        waiting += before - found
        found |= before
    return found
