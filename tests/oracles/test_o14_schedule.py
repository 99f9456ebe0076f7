"""O14: the learning rate of the paper, and a run that goes on after a pause."""

import json

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import InverseSqrtSchedule
from tests.backends import BACKEND, array_of, compiled

SCHEDULE = InverseSqrtSchedule(hidden_dim=512, warmup_steps=4000)
RNG = np.random.default_rng(14)
X, Y = RNG.normal(size=(8, 3)), RNG.normal(size=(8, 1))


@pytest.mark.parametrize(
    ("step", "rate"), [(1, 1.74693e-7), (4000, 6.98771e-4), (8000, 4.94106e-4)]
)
def test_known_rates(step, rate):
    tensor = ops.convert_to_tensor(np.array(step, "int64"))
    for same in (step, np.int64(step), tensor):
        assert float(SCHEDULE(same)) == pytest.approx(rate, rel=1e-5)
    assert float(compiled(SCHEDULE)(tensor)) == pytest.approx(rate, rel=1e-5)


def test_step_0_is_finite_and_positive():
    assert float(SCHEDULE(0)) == pytest.approx(1.74693e-7, rel=1e-5)


def test_config_holds_plain_numbers():
    schedule = InverseSqrtSchedule(np.int64(512), np.int64(40), scale=np.float32(2.0))
    config = schedule.get_config()
    assert json.loads(json.dumps(config)) == config
    assert config == {"hidden_dim": 512, "warmup_steps": 40, "scale": 2.0}
    serialized = keras.optimizers.schedules.serialize(schedule)
    back = keras.optimizers.schedules.deserialize(serialized)
    assert type(back) is InverseSqrtSchedule
    assert back.get_config() == config
    assert float(back(5)) == float(schedule(5))


def new_model():
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    schedule = InverseSqrtSchedule(4, warmup_steps=2)
    model.compile(keras.optimizers.Adam(schedule), "mse", jit_compile=BACKEND == "jax")
    return model


def steps(model, number):
    for _ in range(number):
        model.train_on_batch(X, Y)


def test_a_loaded_model_goes_on_where_it_stopped(tmp_path):
    model = new_model()
    steps(model, 3)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert int(array_of(loaded.optimizer.iterations)) == 3
    steps(loaded, 1)
    whole = new_model()
    steps(whole, 4)
    for one, other in zip(loaded.weights, whole.weights, strict=True):
        np.testing.assert_array_equal(array_of(one), array_of(other))
    one, other = loaded.optimizer.learning_rate, whole.optimizer.learning_rate
    assert float(one) == float(other) == pytest.approx(0.5 * 4**-0.5, rel=1e-5)
