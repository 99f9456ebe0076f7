"""What tests need of a backend and Keras has no function for."""

from contextlib import contextmanager

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.decoding import ContinuationGenerator, SequenceGenerator

BACKEND = keras.backend.backend()

# With tensors as small as the tests', threads and optimised code cost time.
if BACKEND == "torch":
    import torch

    torch.set_num_threads(1)
elif BACKEND == "jax":
    import jax

    jax.config.update("jax_disable_most_optimizations", True)


def compiled(function, **options):
    """`function` compiled by the backend; PyTorch runs it as it is."""
    if BACKEND == "tensorflow":
        import tensorflow as tf

        return tf.function(function, **options)
    if BACKEND == "jax":
        import jax

        return jax.jit(function)
    return function


def gradients(function, *arrays):
    """Gradients of a scalar function with respect to NumPy arrays."""
    tensors = [ops.convert_to_tensor(array) for array in arrays]
    if BACKEND == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            tape.watch(tensors)
            value = function(*tensors)
        found = tape.gradient(value, tensors, unconnected_gradients="zero")
    elif BACKEND == "jax":
        import jax

        argnums = tuple(range(len(tensors)))
        found = jax.jit(jax.grad(function, argnums=argnums))(*tensors)
    else:
        tensors = [tensor.detach().requires_grad_() for tensor in tensors]
        function(*tensors).backward()
        found = [
            ops.zeros_like(tensor) if tensor.grad is None else tensor.grad
            for tensor in tensors
        ]
    return [array_of(gradient) for gradient in found]


def second_gradients(function, direction, *arrays):
    """Gradients of `sum(direction * df/dx)`, where `x` is the first of the arrays."""
    tensors = [ops.convert_to_tensor(array) for array in arrays]
    if BACKEND == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as outer:
            outer.watch(tensors)
            with tf.GradientTape() as inner:
                inner.watch(tensors)
                value = function(*tensors)
            slope = ops.sum(inner.gradient(value, tensors[0]) * direction)
        found = outer.gradient(slope, tensors)
    elif BACKEND == "jax":
        import jax

        def slope(*tensors):
            return ops.sum(jax.grad(function)(*tensors) * direction)

        found = jax.grad(slope, argnums=tuple(range(len(tensors))))(*tensors)
    else:
        import torch

        tensors = [tensor.detach().requires_grad_() for tensor in tensors]
        (first,) = torch.autograd.grad(
            function(*tensors), tensors[:1], create_graph=True
        )
        slope = ops.sum(first * ops.convert_to_tensor(direction))
        found = torch.autograd.grad(slope, tensors)
    return [array_of(gradient) for gradient in found]


def weight_gradients(layer, loss, *inputs, **options):
    """Gradients of `loss(layer(*inputs))` with respect to the layer's weights."""
    state = [variable.value for variable in layer.non_trainable_variables]

    def value(*weights):
        output, _ = layer.stateless_call(list(weights), state, *inputs, **options)
        return loss(output)

    return gradients(value, *(array_of(w) for w in layer.trainable_variables))


def array_of(x):
    """`x` as a float32 NumPy array if it is a float of any width, else as it is."""
    array = np.asarray(ops.convert_to_numpy(x))
    return array.astype("float32") if "float" in str(array.dtype) else array


def assert_close(actual, expected, atol=1e-5, rtol=1e-5, message=""):
    """Compare tensors or arrays; a NaN on either side is a difference."""
    np.testing.assert_allclose(
        array_of(actual),
        array_of(expected),
        atol=atol,
        rtol=rtol,
        equal_nan=False,
        err_msg=message,
    )


def randomize(layer, seed=0, scale=0.5):
    """Give all trainable weights random values, biases and norms included."""
    rng = np.random.default_rng(seed)
    for weight in layer.trainable_variables:
        noise = rng.normal(size=weight.shape) * scale
        one = 1.0 if weight.name in ("gamma", "scale") else 0.0
        weight.assign((one + noise).astype("float32"))
    return layer


@contextmanager
def searches_without_xla():
    """Let searches run as plain graphs on TensorFlow, with the same results.

    Compiling one takes seconds and hundreds of megabytes, which TensorFlow keeps; tests
    of the decoding package and of the translator do compile them.
    """
    off = property(lambda self: False, lambda self, value: None)
    with pytest.MonkeyPatch.context() as patch:
        if BACKEND == "tensorflow":
            for kind in (SequenceGenerator, ContinuationGenerator):
                patch.setattr(kind, "jit_compile", off)
        yield
