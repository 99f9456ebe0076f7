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


def killed_trainer(folder, pairs, delay):
    process = trainer(folder, pairs)
    time.sleep(delay)
    process.kill()
    process.communicate()
    return process.returncode


def finished(folder, pairs):
    """Train to the end; return the weights, the checkpoint and the seconds it took."""
    process, begin = trainer(folder, pairs), time.perf_counter()
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors.decode()
    seconds = time.perf_counter() - begin
    weights = Translator.load(folder / "model.translator").model.get_weights()
    return weights, read_arrays(folder / "backup" / "backup.npz"), seconds


def test_a_run_that_is_killed_at_random_moments(tmp_path):
    pairs = write_pairs(tmp_path / "pairs.tsv")
    expected, (expected_arrays, expected_place), seconds = finished(
        tmp_path / "whole", pairs
    )
    chance, interrupted, places = random.Random(4), 0, []
    backup = tmp_path / "killed" / "backup" / "backup.npz"
    for _ in range(KILLS):
        delay = chance.uniform(0, 0.4 * seconds)
        interrupted += killed_trainer(tmp_path / "killed", pairs, delay) != 0
        places.append(read_arrays(backup)[1]["position"] if backup.exists() else 0)
    weights, (arrays, place), _ = finished(tmp_path / "killed", pairs)
    print(f"{interrupted} of {KILLS} killed, after steps {places}")  # noqa: T201
    assert interrupted
    assert place == expected_place
    assert arrays.keys() == expected_arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, expected_arrays[name], err_msg=name)
    for one, other in zip(weights, expected, strict=True):
        np.testing.assert_array_equal(one, other)
