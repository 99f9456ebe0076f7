"""Layer normalisation with a gradient in few passes."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_transformer")
class LayerNormalization(keras.layers.LayerNormalization):
    """`keras.layers.LayerNormalization` of the last axis, cheaper and more exact.

    ```
    y = gamma (x - mean(x)) / sqrt(var(x) + epsilon) + beta
    ```

    TensorFlow differentiates Keras's operations one by one: here the gradient is
    written out, in fewer passes. On JAX, Keras takes the
    variance as the mean square less the squared mean, which cancels where the mean is
    large. PyTorch has a kernel of its own, which stays.

    Args:
        epsilon: added to the variance.
        **kwargs: as for `keras.layers.LayerNormalization`.

    Reference: Ba et al., 2016, "Layer Normalization".
    """

    def __init__(self, epsilon=1e-5, **kwargs):
        super().__init__(epsilon=epsilon, **kwargs)

    def call(self, inputs):
        """Normalise (..., width) over its width, in float32 at least."""
        backend, gamma, beta = keras.backend.backend(), self.gamma, self.beta
        if backend == "torch" or self.axis != [-1] or gamma is None or beta is None:
            return super().call(inputs)
        if inputs.shape[-1] != gamma.shape[0]:
            raise ValueError(
                f"`inputs` must have the width that {self.name!r} was built for, "
                f"{gamma.shape[0]}. Received: shape {tuple(inputs.shape)}."
            )
        x = ops.cast(inputs, keras.backend.result_type(self.compute_dtype, "float32"))
        if backend == "tensorflow":
            x = with_own_gradient(x, gamma, beta, self.epsilon)
        else:
            x = standardized(x, self.epsilon)[0] * gamma + beta
        return ops.cast(x, self.compute_dtype)


def standardized(x, epsilon):
    """Return x with the mean 0 and the variance 1 in each row, and 1 / deviation."""
    centered = x - ops.mean(x, axis=-1, keepdims=True)
    variance = ops.mean(ops.square(centered), axis=-1, keepdims=True)
    factor = ops.rsqrt(variance + epsilon)
    return centered * factor, factor


def with_own_gradient(x, gamma, beta, epsilon):
    """Normalise each row, with a gradient in few passes.

    With h the standardised row and u the output's gradient,

    ```
    dx = (gamma u - mean(gamma u) - h mean(gamma u h)) / sqrt(var(x) + epsilon)
    ```

    Args:
        x: floating point (..., width).
        gamma: (width,), of any floating dtype.
        beta: (width,), of any floating dtype.
        epsilon: added to the variance.

    Returns:
        (..., width), of the same dtype.
    """
    rows = tuple(range(len(x.shape) - 1))

    # Nothing is reshaped to two axes: XLA then fuses little of it, and a step that is
    # compiled takes three times as long.
    @ops.custom_gradient
    def normalize(x, gamma, beta):
        h, factor = standardized(x, epsilon)

        def gradient(*args, upstream=None):
            (u,) = args if upstream is None else (upstream,)
            gu = gamma * u
            mean = ops.mean(gu, axis=-1, keepdims=True)
            dx = factor * (gu - mean - h * ops.mean(gu * h, axis=-1, keepdims=True))
            return dx, ops.sum(u * h, axis=rows), ops.sum(u, axis=rows)

        return gamma * h + beta, gradient

    # Tensors: a custom gradient does not take variables.
    weights = (
        ops.cast(ops.reshape(weight, (-1,)), x.dtype) for weight in (gamma, beta)
    )
    return normalize(x, *weights)
