"""The experiments run, with little work to do, and leave what the docs include."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import keras_transformer

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples" / "experiments"
PACKAGE = str(Path(keras_transformer.__file__).parents[1])
# The others train for some seconds each, however little they have to do.
QUICK = {
    "complexity": ["--lengths", "16", "48"],
    "score_scale": [],
    "small_language_model": ["--seconds", "1"],
}

pytestmark = pytest.mark.tensorflow_only


@pytest.mark.parametrize("name", QUICK)
def test_an_experiment_leaves_table_figures_and_plot(name, tmp_path):
    pytest.importorskip("matplotlib")
    result = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py", "--quick", *QUICK[name]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": PACKAGE},
    )
    assert result.returncode == 0, result.stdout + result.stderr
    written = {path.name for path in (tmp_path / "experiments").iterdir()}
    assert written == {f"{name}.{ending}" for ending in ("md", "json", "svg")}
    found = json.loads((tmp_path / "experiments" / f"{name}.json").read_text())
    assert all(len(row) == len(found["header"]) for row in found["rows"])


def test_the_docs_show_every_experiment():
    page = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    scripts = set(re.findall(r"examples/experiments/(\w+)\.py", page))
    tables = set(re.findall(r"results/(\w+)\.md", page))
    plots = set(re.findall(r"images/experiments/(\w+)\.svg", page))
    with_record = {
        path.stem for path in FOLDER.glob("*.py") if "Record(" in path.read_text()
    } - {"record"}
    assert scripts == tables == plots == with_record
    for name in tables:
        assert (FOLDER / "results" / f"{name}.md").exists()
