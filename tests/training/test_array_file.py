"""A file of arrays is whole at every moment."""

import random
import subprocess
import sys
import time

import numpy as np
import pytest

from keras_transformer.training import array_file
from keras_transformer.training.array_file import read_arrays, write_arrays

pytestmark = pytest.mark.tensorflow_only  # nothing here depends on a backend

# In packages without what their `__init__` imports: the module needs NumPy alone, and a
# process that imports Keras takes seconds to start.
WRITE_AGAIN_AND_AGAIN = """
import sys
import types
from importlib import import_module
from pathlib import Path
import numpy as np
folder = Path(sys.argv[1]).parent
for name, path in (
    ("keras_transformer", folder.parent), ("keras_transformer.training", folder)
):
    package = sys.modules[name] = types.ModuleType(name)
    package.__path__ = [str(path)]
module = import_module("keras_transformer.training.array_file")
assert "keras" not in sys.modules
for number in range(100_000):
    arrays = {"a": np.full(200_000, number), "b": np.full(1000, number)}
    module.write_arrays(sys.argv[2], arrays, {"number": number})
"""


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "new" / "state.npz"
    arrays = {"x.0": np.arange(6, dtype="uint32").reshape(2, 3), "y": np.float64(0.1)}
    write_arrays(path, arrays, {"paths": ["é/x"], "none": None})
    found, description = read_arrays(path)
    assert found.keys() == arrays.keys()
    assert found["x.0"].dtype == np.uint32
    np.testing.assert_array_equal(found["x.0"], arrays["x.0"])
    assert found["y"] == arrays["y"]
    assert description == {"paths": ["é/x"], "none": None}
    assert [file.name for file in path.parent.iterdir()] == ["state.npz"]


def test_a_process_killed_while_it_writes_leaves_a_whole_file(tmp_path):
    path = tmp_path / "state.npz"
    command = [sys.executable, "-c", WRITE_AGAIN_AND_AGAIN, array_file.__file__]
    chance = random.Random(5)
    for _ in range(5):
        path.unlink(missing_ok=True)
        with subprocess.Popen([*command, str(path)]) as writer:
            while not path.exists():
                assert writer.poll() is None
                time.sleep(0.01)
            time.sleep(chance.uniform(0, 0.1))
            writer.kill()
        arrays, description = read_arrays(path)
        assert arrays["a"].shape == (200_000,)
        assert set(arrays["a"]) == set(arrays["b"]) == {description["number"]}
    write_arrays(path, {"a": np.zeros(1)}, {})
    assert [file.name for file in tmp_path.iterdir()] == ["state.npz"]


def test_an_error_while_writing_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "state.npz"
    write_arrays(path, {"a": np.ones(3)}, {"number": 1})

    def full_disk(file, **arrays):
        file.write(b"half of")
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_arrays(path, {"a": np.zeros(3)}, {"number": 2})
    arrays, description = read_arrays(path)
    assert arrays["a"].tolist() == [1, 1, 1]
    assert description == {"number": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["state.npz"]
