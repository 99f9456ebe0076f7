"""Sums over the replicas of a distributed training step."""

import keras


def sum_over_replicas(x):
    """Sum a tensor over the replicas of TensorFlow's `tf.distribute`.

    Each replica sees its own part of a batch there, and Keras adds up their gradients.
    On the other backends, and outside a replica, a step sees the whole batch (not so
    under PyTorch's `DistributedDataParallel`, which Keras's `fit` does not use).

    Args:
        x: a tensor that needs no gradient.

    Returns:
        The sum, the same on each replica; `x` itself where there is one only.
    """
    if keras.backend.backend() != "tensorflow":
        return x
    import tensorflow as tf

    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return x
    return context.all_reduce(tf.distribute.ReduceOp.SUM, x)
