"""A version is whole or not there, whenever the exporting process is killed."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keras_transformer.export import check

pytestmark = pytest.mark.tensorflow_only

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("EXPORT_KILLS", "2"))  # each takes an import of TensorFlow
EXPORT = """
import sys
from keras_transformer import GreedySearch
from tests.translators import small_translator

translator = small_translator(search=GreedySearch(), max_length=4)
print("ready", flush=True)
translator.export(sys.argv[1], n_best=1)
"""


def exporter(path):
    process = subprocess.Popen(
        [sys.executable, "-c", EXPORT, path],
        cwd=ROOT,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    with process.stdout as output:
        assert output.readline() == b"ready\n"
    return process


def assert_whole(path):
    import tensorflow as tf
    import tensorflow_text  # noqa: F401 - registers the tokenizer's operations

    report = check(path)
    assert report.problems == []
    assert len(report.warm_up) == 2
    translate = tf.saved_model.load(str(path)).signatures["serving_default"]
    assert translate(text=tf.constant(["Hello."]))["translation"].shape == (1,)


def test_an_export_that_is_killed_at_random_moments(tmp_path):
    base = tmp_path / "es"
    process, start = exporter(base / "1"), time.perf_counter()
    assert process.wait() == 0
    seconds, chance = time.perf_counter() - start, random.Random(4)
    assert_whole(base / "1")
    for version in range(2, KILLS + 2):
        process = exporter(base / str(version))
        time.sleep(chance.uniform(0, 1.1 * seconds))
        process.kill()
        process.wait()
        versions = [path for path in base.iterdir() if path.name.isdigit()]
        if base / str(version) in versions:
            assert_whole(base / str(version))
    assert base / "1" in versions
    for path in base.iterdir():  # what a server overlooks
        assert path.name.isdigit() or path.name.startswith(".")
