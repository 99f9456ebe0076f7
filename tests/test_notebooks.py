"""The notebooks run, one after the other, with settings that need little work."""

import json
import os
from pathlib import Path

import pytest

import keras_transformer

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("sacrebleu")

pytestmark = pytest.mark.tensorflow_only

PACKAGE = str(Path(keras_transformer.__file__).parents[1])
NOTEBOOKS = Path(__file__).parents[1] / "examples" / "notebooks"
# Instead of the cell with the tag "parameters".
SMALL = {
    "build_and_train": {
        "CORPUS": "toy",
        "VOCABULARY_SIZE": 420,
        "SIZE": {
            "num_layers": 1,
            "hidden_dim": 32,
            "num_heads": 2,
            "intermediate_dim": 64,
        },
        "EPOCHS": 1,
        "FOLDER": "models/notebook",
    },
    "look_inside": {
        "MODEL": "models/notebook/model.translator",
        "SENTENCE": "The small dog sees two red houses.",
    },
    "serve": {
        "MODEL": "models/notebook/model.translator",
        "SERVED": "models/notebook/served",
        "SENTENCES": ["The small dog sees two red houses.", "", "The cats run."],
    },
}


def read(name):
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def cells_tagged(notebook, tag):
    return [cell for cell in notebook.cells if tag in cell.metadata.get("tags", [])]


def assigned(code):
    """Execute assignments, and return what they set."""
    values = {}
    exec(code, values)
    del values["__builtins__"]
    return values


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Run all notebooks in one folder: each loads what the first has saved."""
    folder = tmp_path_factory.mktemp("notebooks")
    environment = {
        **os.environ,
        "IPYTHONDIR": str(folder / "ipython"),
        "PYTHONPATH": PACKAGE,
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    notebooks = {}
    for name, values in SMALL.items():
        notebook = notebooks[name] = read(name)
        (parameters,) = cells_tagged(notebook, "parameters")
        parameters.source = "\n".join(f"{key} = {values[key]!r}" for key in values)
        client = nbclient.NotebookClient(
            notebook, timeout=300, resources={"metadata": {"path": str(folder)}}
        )
        client.execute(env=environment)
    return notebooks


def outputs(notebook):
    """Return the text of all outputs, and the set of their types."""
    texts, types = [], set()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {"text/plain": output.get("text", "")})
            texts.append(data.get("text/plain", ""))
            types.update(data)
    return "\n".join(texts), types


def test_all_notebooks_are_run():
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(SMALL)


@pytest.mark.parametrize("name", SMALL)
def test_the_small_settings_replace_all_settings(name):
    (parameters,) = cells_tagged(read(name), "parameters")
    assert assigned(parameters.source).keys() == SMALL[name].keys()


@pytest.mark.parametrize("name", SMALL)
def test_a_notebook_keeps_no_error_and_no_path_of_a_machine(name):
    notebook = read(name)
    text = json.dumps(notebook)
    assert '"output_type": "error"' not in text
    assert "/home/" not in text
    assert "/tmp/" not in text
    assert (NOTEBOOKS / f"{name}.ipynb").stat().st_size < 1_000_000


def test_build_and_train_trains_draws_and_saves(ran):
    text, types = outputs(ran["build_and_train"])
    assert "image/png" in types
    assert "BLEU " in text
    assert "scores (2, 2, " in text
    assert "val_loss" in text


def test_look_inside_draws_maps_and_compares_words(ran):
    text, types = outputs(ran["look_inside"])
    assert {"image/png", "text/html"} <= types
    assert "distance  1: " in text
    words = [line.split()[0] for line in text.splitlines() if "looked at:" in line]
    assert words == SMALL["look_inside"]["SENTENCE"].split()


def test_serve_exports_two_versions_and_the_second_is_smaller(ran):
    text, _ = outputs(ran["serve"])
    sizes = [
        float(line.split(": ")[1].removesuffix(" MB"))
        for line in text.splitlines()
        if line.startswith("version ") and line.endswith(" MB")
    ]
    assert len(sizes) == 2
    assert sizes[1] < sizes[0]
