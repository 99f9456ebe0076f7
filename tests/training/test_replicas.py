"""Two replicas of `tf.distribute` make the update that one device makes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import keras_transformer

PACKAGE = str(Path(keras_transformer.__file__).parents[1])
SCRIPT = Path(__file__).with_name("steps_on_replicas.py")

pytestmark = pytest.mark.tensorflow_only


@pytest.fixture(scope="module")
def results():
    done = subprocess.run(
        [sys.executable, SCRIPT],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": PACKAGE},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("kind", ["", "R-Drop, "])
@pytest.mark.parametrize(
    "case",
    [
        "uneven padding",
        "odd last batch",
        "last replica without rows",
        "replica of padding",
    ],
)
def test_update_is_that_of_one_device(results, kind, case):
    found = results[kind + case]
    assert found["replicas"] == 2
    assert found["moved"] > 0.01
    # Not true of a NaN. R-Drop's large steps round in larger units.
    assert found["difference"] < 1e-6 * max(found["moved"], 1)


@pytest.mark.parametrize("kind", ["", "R-Drop, "])
def test_padding_alone_changes_nothing(results, kind):
    found = results[kind + "padding alone"]
    assert found["moved"] == 0
    assert found["difference"] == 0


def test_a_backup_is_restored_on_replicas(results):
    found = results["backup"]
    assert found == {
        "done": 2,
        "moments": True,
        "mirrored": True,
        "difference": 0,
        "iterations": [4, 4],
    }


@pytest.mark.parametrize("case", ["uneven padding", "replica of padding"])
def test_logs_are_those_of_one_device(results, case):
    alone, together = results[case]["logs"]
    assert together["loss"] == pytest.approx(alone["loss"], rel=1e-5)
    accuracies = together["token_accuracy"], alone["token_accuracy"]
    assert accuracies[0] == pytest.approx(accuracies[1], abs=1e-6)


def test_batches_filled_for_two_replicas_are_those_of_one_device(results):
    found = results["stream"]
    assert found["shapes"] == [[[3, 5, 5]], [[4, 5, 5]]]
    assert found["difference"] < 1e-6
