"""A run that is killed at random moments ends with the weights of one that is not."""

import os
import random
import time

import numpy as np
import pytest

from keras_transformer import Translator
from keras_transformer.training.array_file import read_arrays
from tests.cli.programs import SMALL, start, write_pairs

pytestmark = pytest.mark.tensorflow_only

KILLS = int(os.environ.get("TRAIN_KILLS", "2"))  # each takes an import of TensorFlow
EPOCHS = os.environ.get("TRAIN_EPOCHS", "4")


def trainer(folder, pairs):
    """Start training, and wait until it says what it does."""
    process = start(
        *("train", "--pairs", pairs, *SMALL, "--epochs", EPOCHS),
        *("--average-last=2", "--preview=0", "--checkpoint-every=3"),
        *("--output", folder),
    )
    assert process.stderr is not None
    while process.stderr.readline().startswith(b"Training") is False:
        assert process.poll() is None
    return process


def kill_after(folder, pairs, step, delay):
    """Start training, and kill it a moment after the checkpoint of a step or later."""
    process = trainer(folder, pairs)
    while position(folder) < step and process.poll() is None:
        time.sleep(0.001)
    time.sleep(delay)
    process.kill()
    process.communicate()
    return process.returncode != 0


def position(folder):
    """Steps done at the last checkpoint."""
    file = folder / "backup" / "backup.npz"
    try:
        return read_arrays(file)[1]["position"] if file.exists() else 0
    except (OSError, ValueError):  # is being replaced
        return 0


def finished(folder, pairs):
    """Train to the end; return the weights and the checkpoint."""
    process = trainer(folder, pairs)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors.decode()
    weights = Translator.load(folder / "model.translator").model.get_weights()
    return weights, read_arrays(folder / "backup" / "backup.npz")


def test_a_run_that_is_killed_at_random_moments(tmp_path):
    pairs = write_pairs(tmp_path / "pairs.tsv")
    expected, (expected_arrays, expected_place) = finished(tmp_path / "whole", pairs)
    chance, killed, places = random.Random(4), 0, []
    most = 0.9 * expected_place["position"]
    for step in sorted(chance.uniform(0, most) for _ in range(KILLS)):
        delay = chance.uniform(0, 0.05)
        killed += kill_after(tmp_path / "killed", pairs, step, delay)
        places.append(position(tmp_path / "killed"))
    weights, (arrays, place) = finished(tmp_path / "killed", pairs)
    print(f"{killed} of {KILLS} killed, after steps {places}")  # noqa: T201
    assert killed
    assert places[-1] > 0  # it went on from a checkpoint
    assert place == expected_place
    assert arrays.keys() == expected_arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, expected_arrays[name], err_msg=name)
    for one, other in zip(weights, expected, strict=True):
        np.testing.assert_array_equal(one, other)
