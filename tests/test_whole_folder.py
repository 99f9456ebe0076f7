"""A folder appears whole or not at all, whenever its writer is killed."""

import random
import subprocess
import sys
import time

import pytest

from keras_transformer import whole_folder as module
from keras_transformer.whole_folder import whole_folder

pytestmark = pytest.mark.tensorflow_only  # nothing here depends on a backend

FILES = 300
# The module alone, since importing the package takes seconds.
WRITER = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("whole_folder", {module.__file__!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print("ready", flush=True)
with module.whole_folder(sys.argv[1]) as folder:
    for number in range({FILES}):
        (folder / str(number)).write_bytes(b"x" * 20_000)
"""


def seconds_of_a_whole_write(path):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", WRITER, path], check=True)
    return time.perf_counter() - start


def test_a_writer_that_is_killed_at_random_moments(tmp_path):
    most = seconds_of_a_whole_write(tmp_path / "es" / "1")
    chance = random.Random(3)
    for version in range(2, 22):
        path = tmp_path / "es" / str(version)
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        with writer.stdout as output:
            output.readline()
            time.sleep(chance.uniform(0, most))
            writer.kill()
            writer.wait()
        if path.exists():
            assert len(list(path.iterdir())) == FILES
            assert all(file.stat().st_size == 20_000 for file in path.iterdir())
    numbers = [path.name for path in (tmp_path / "es").iterdir() if path.name.isdigit()]
    assert "1" in numbers  # and what is unfinished is no version to a server


def test_an_error_removes_what_was_written(tmp_path):
    def fail():
        with whole_folder(tmp_path / "1") as folder:
            (folder / "file").write_text("text")
            raise KeyError(folder.name)

    with pytest.raises(KeyError, match=r"'\.1\."):
        fail()
    assert list(tmp_path.iterdir()) == []
