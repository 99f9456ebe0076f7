"""Stochastic depth: whole branches that are skipped in training."""

import keras
from keras import ops

from keras_transformer.argument_checks import check_rate


@keras.saving.register_keras_serializable(package="keras_transformer")
class StochasticDepth(keras.layers.Layer):
    """Skips the output of a branch, for some samples of a batch.

    ```
    y = b x / (1 - p)       in training, b = 0 with probability p, else 1
    y = x                   at inference
    ```

    One number is drawn for each sample, so that a branch acts on all positions of a
    sample or on none. What is kept is scaled up: its mean is that of inference, where
    nothing is scaled. The paper scales by 1 - p at inference instead.

    Args:
        rate: probability p that a sample is skipped, in [0, 1).
        seed: integer seed.

    Raises:
        ValueError: for a rate outside [0, 1).

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import StochasticDepth
        >>> x = np.ones((8, 3, 1), "float32")
        >>> y = np.array(StochasticDepth(0.5, seed=1)(x, training=True))
        >>> sorted(set(y.flatten().tolist()))
        [0.0, 2.0]

    Reference: Huang et al., 2016, "Deep Networks with Stochastic Depth".
    """

    def __init__(self, rate, *, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.rate = check_rate("rate", rate)
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed) if self.rate else None

    def build(self, inputs_shape):
        """Create nothing: the layer has no weights."""

    def call(self, inputs, training=None):
        """Skip samples if `training`.

        Args:
            inputs: (batch, ...), the output of a branch.
            training: whether samples are skipped.

        Returns:
            A tensor of the same shape.
        """
        if not training or not self.rate:
            return inputs
        shape = (ops.shape(inputs)[0],) + (1,) * (len(inputs.shape) - 1)
        # Half precision would round the probability.
        numbers = keras.random.uniform(shape, dtype="float32", seed=self.seed_generator)
        return ops.where(numbers < self.rate, 0.0, inputs * (1 / (1 - self.rate)))

    def compute_output_shape(self, inputs_shape):
        """Shape of the inputs."""
        return inputs_shape

    def get_config(self):
        """Return the constructor's arguments."""
        return {**super().get_config(), "rate": self.rate, "seed": self.seed}
