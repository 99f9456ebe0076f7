"""The paper's learning rate."""

import keras
from keras import ops

from keras_transformer.argument_checks import (
    check_positive_integer,
    check_positive_number,
)


@keras.saving.register_keras_serializable(package="keras_transformer")
class InverseSqrtSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Rise linearly for the warm-up, then fall with the square root of the step.

    ```
    rate = scale * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)
    ```

    Steps count from 1 as in the paper; step 0, an optimizer's first, has the rate of
    step 1. An optimizer with `gradient_accumulation_steps=k` counts each batch as a
    step: give it `k * warmup_steps`, and `sqrt(k) * scale`.

    Args:
        hidden_dim: width of the model, d_model.
        warmup_steps: number of steps of the rise.
        scale: factor of the whole.

    Raises:
        ValueError: for a size below 1 or a factor that is not above 0.

    Examples:
        >>> from keras_transformer import InverseSqrtSchedule
        >>> rate = InverseSqrtSchedule(hidden_dim=512, warmup_steps=4000)
        >>> print(f"{float(rate(4000)):.6f}")
        0.000699

    Reference: Vaswani et al., 2017, "Attention Is All You Need", equation 3.
    """

    def __init__(self, hidden_dim, warmup_steps=4000, *, scale=1.0):
        super().__init__()
        self.hidden_dim = check_positive_integer("hidden_dim", hidden_dim)
        self.warmup_steps = check_positive_integer("warmup_steps", warmup_steps)
        self.scale = check_positive_number("scale", scale)

    def __call__(self, step):
        """Return the rate of an integer step, a float32 scalar."""
        step = ops.maximum(ops.cast(step, "float32"), 1.0)
        rising = step * self.warmup_steps**-1.5
        rate = ops.minimum(ops.rsqrt(step), rising)
        return self.scale * self.hidden_dim**-0.5 * rate

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            "hidden_dim": self.hidden_dim,
            "warmup_steps": self.warmup_steps,
            "scale": self.scale,
        }
