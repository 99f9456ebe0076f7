"""What lets TensorFlow write into an array of the logits' size, not into a new one."""

import keras
from keras import ops


def tensor_of(x):
    """Return what is in a variable of TensorFlow; other tensors as they are."""
    return after([], x)


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


def scaled_rows(x, weight, real):
    """Multiply each row of `x` by its weight, without NaN of rows that do not count.

    Args:
        x: floating point (..., vocabulary).
        weight: (..., 1), 0 where `real` is False.
        real: boolean (..., 1).

    Returns:
        As `x`, 0 where `real` is False.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.math.multiply_no_nan(x, weight)  # which can be done in place
    return ops.where(real, x, 0.0) * weight


def is_recorded(x):
    """Tell whether PyTorch records what is done with `x`."""
    return getattr(x[..., :1] * 1, "requires_grad", False)


def add_in_rows(x, columns, values, in_place=True):
    """Add a value to each row of `x`, in one column.

    Args:
        x: floating point (..., vocabulary).
        columns: int32 (..., 1).
        values: (..., 1), of the dtype of `x`.
        in_place: whether to write it in place with TensorFlow, if that is possible.

    Returns:
        As `x`.
    """
    flat = ops.reshape(x, (-1, ops.shape(x)[-1]))
    columns = ops.reshape(columns, (-1, 1))
    values = ops.reshape(values, (-1, 1))
    rows = ops.arange(ops.shape(columns)[0], dtype="int32")[:, None]
    places = ops.concatenate([rows, columns], axis=1)
    if in_place and writes_in_place():
        import tensorflow as tf

        # Flat positions are computed in the dtype of the indices.
        flat = tf.raw_ops.ScatterNdNonAliasingAdd(
            input=flat, indices=tf.cast(places, "int64"), updates=values[:, 0]
        )
    else:
        values = values + ops.take_along_axis(flat, columns, axis=1)
        flat = ops.scatter_update(flat, places, values[:, 0])
    return ops.reshape(flat, ops.shape(x))


def writes_in_place():
    """Tell whether TensorFlow can write in place, which XLA has no operation for.

    Ask where a function itself is traced: its gradient may be traced outside of XLA,
    and is compiled with the function all the same.
    """
    if keras.backend.backend() != "tensorflow":
        return False
    # `tf.function(jit_compile=True)` traces in a context that nothing public tells of.
    try:
        from tensorflow.python.framework.ops import get_default_graph
        from tensorflow.python.ops.control_flow_util import GraphOrParentsInXlaContext
    except ImportError:
        return False
    return not GraphOrParentsInXlaContext(get_default_graph())
