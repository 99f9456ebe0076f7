"""What lets TensorFlow write into an array of the logits' size, not into a new one."""

import keras
from keras import ops


def after(values, x):
    """Return `x`, to be used when `values` are computed.

    An operation of TensorFlow's graphs writes into its input where nothing else needs
    it any more. Whatever reads `x` has to come before it then.
    """
    if keras.backend.backend() != "tensorflow":
        return x
    import tensorflow as tf

    with tf.control_dependencies(values):
        return tf.identity(x)


def add_in_rows(x, columns, values):
    """Add a value to each row of `x`, in one column.

    Args:
        x: floating point (..., vocabulary).
        columns: int32 (..., 1).
        values: (..., 1), of the dtype of `x`.

    Returns:
        As `x`. TensorFlow writes it in place; its update that XLA knows, too, copies.
    """
    flat = ops.reshape(x, (-1, x.shape[-1]))
    columns = ops.reshape(columns, (-1, 1))
    values = ops.reshape(values, (-1, 1))
    rows = ops.arange(ops.shape(columns)[0], dtype="int32")[:, None]
    places = ops.concatenate([rows, columns], axis=1)
    if keras.backend.backend() == "tensorflow" and not _within_xla():
        import tensorflow as tf

        flat = tf.raw_ops.ScatterNdNonAliasingAdd(
            input=flat, indices=places, updates=values[:, 0]
        )
    else:
        values = values + ops.take_along_axis(flat, columns, axis=1)
        flat = ops.scatter_update(flat, places, values[:, 0])
    return ops.reshape(flat, ops.shape(x))


def _within_xla():
    """Tell whether the graph that is being traced is for XLA."""
    # `tf.function(jit_compile=True)` traces in a context that nothing public tells of.
    try:
        from tensorflow.python.framework.ops import get_default_graph
        from tensorflow.python.ops.control_flow_util import GraphOrParentsInXlaContext
    except ImportError:
        return True
    return GraphOrParentsInXlaContext(get_default_graph())
