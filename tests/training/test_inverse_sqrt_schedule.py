import keras
import numpy as np
import pytest

from keras_transformer import InverseSqrtSchedule
from tests.backends import array_of


def expected(step, width, warmup, scale=1.0):
    step = max(step, 1)
    return scale * width**-0.5 * min(step**-0.5, step * warmup**-1.5)


@pytest.mark.parametrize(
    ("width", "warmup", "scale"), [(512, 4000, 1.0), (64, 10, 2.0), (7, 1, 0.5)]
)
def test_formula(width, warmup, scale):
    schedule = InverseSqrtSchedule(width, warmup, scale=scale)
    for step in (0, 1, 2, 9, 10, 11, 4000, 10**6):
        value = expected(step, width, warmup, scale)
        assert float(schedule(step)) == pytest.approx(value, rel=1e-5), step


def test_it_drives_an_optimizer():
    schedule = InverseSqrtSchedule(4, warmup_steps=2)
    weight = keras.Variable(np.zeros(1, "float32"))
    optimizer = keras.optimizers.SGD(schedule)
    optimizer.build([weight])
    before = 0.0
    for step in range(5):
        optimizer.apply([keras.ops.ones(1)])
        change = before - array_of(weight)[0]
        assert change == pytest.approx(expected(step, 4, 2), rel=1e-4), step
        before = array_of(weight)[0]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"hidden_dim": 0}, r"`hidden_dim` must be an integer of at least 1.*: 0\."),
        ({"warmup_steps": 0}, r"`warmup_steps` must be an integer.*: 0\."),
        ({"warmup_steps": 1.5}, r"`warmup_steps` must be an integer.*: 1\.5\."),
        ({"scale": 0}, r"`scale` must be a number above 0\. Received: 0\."),
        ({"scale": True}, r"`scale` must be a number above 0\. Received: True\."),
    ],
)
def test_errors(options, error):
    with pytest.raises(ValueError, match=error):
        InverseSqrtSchedule(**{"hidden_dim": 8, **options})
