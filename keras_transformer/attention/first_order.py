"""Results that may not be differentiated."""

from keras import ops


def not_differentiable(x, why):
    """Return `x`; whoever differentiates it gets a `NotImplementedError` with `why`."""

    @ops.custom_gradient
    def same(x):
        def gradient(*args, upstream=None):
            raise NotImplementedError(why)

        return ops.stop_gradient(x), gradient

    return same(x)
