"""A recipe trains on files of parallel text, and goes on after an interruption."""

import gzip
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import keras_transformer
from keras_transformer import corpora

PACKAGE = str(Path(keras_transformer.__file__).parents[1])
SCRIPT = Path(__file__).parents[1] / "examples" / "train_recipe.py"

pytestmark = pytest.mark.tensorflow_only


def write(folder):
    corpus = corpora.toy(300, validation=8, test=8)
    names = {"train": corpus.train, "val": corpus.validation, "check": corpus.test}
    for name, pairs in names.items():
        for side, language in enumerate(("en", "es")):
            text = "".join(f"{pair[side]}\n" for pair in pairs).encode()
            plain = folder / f"{name}.{language}"
            if side:
                plain.write_bytes(text)
            else:
                plain.with_name(f"{plain.name}.gz").write_bytes(gzip.compress(text))


def run(folder, *arguments, refused=False):
    result = subprocess.run(
        [
            sys.executable, SCRIPT, "tatoeba_small", "--data", folder, "--target", "es",
            "--test", "check", "--scale", "0.1", "--output", folder / "run", *arguments,
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": PACKAGE},
    )  # fmt: skip
    if refused:
        assert result.returncode
        return result.stderr
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads((folder / "run" / "log.json").read_text())


def test_second_call_goes_on_where_the_first_one_ended(tmp_path):
    pytest.importorskip("sacrebleu")
    write(tmp_path)
    first = run(tmp_path, "--epochs", "1")
    steps = first["epochs"][0]["step"]
    assert first["recipe"]["model"]["hidden_dim"] == 16
    assert first["test"]["sentences"] == 8
    assert "tok:none" in first["test"]["bleu_signature"]
    second = run(tmp_path, "--epochs", "2")
    assert [epoch["step"] for epoch in second["epochs"]] == [steps, 2 * steps]
    assert second["epochs"][0] == first["epochs"][0]
    assert second["epochs"][1]["val_loss"] < first["epochs"][0]["val_loss"]
    assert "val_bleu" in second["epochs"][1]
    assert (tmp_path / "run" / "model.translator").exists()
    again = run(tmp_path, "--epochs", "2")
    assert again["epochs"] == second["epochs"]
    assert again["test"] == second["test"]
    error = run(tmp_path, "--epochs", "2", "--seed", "1", refused=True)
    assert "has a run with another `seed`" in error
    error = run(tmp_path, "--steps", "1", refused=True)
    assert f"has a run with {steps} steps" in error
    (tmp_path / "val.es").unlink()
    assert "There is neither" in run(tmp_path, "--epochs", "2", refused=True)


@pytest.mark.parametrize(
    "arguments",
    [["--steps", "0"], ["--epochs", "x"], ["--steps", "2", "--epochs", "2"]],
)
def test_lengths_that_are_none_are_refused(arguments, monkeypatch, capsys):
    monkeypatch.syspath_prepend(SCRIPT.parent)
    monkeypatch.setattr(sys, "argv", ["x", "wmt14_big", "--data", ".", *arguments])
    with pytest.raises(SystemExit):
        runpy.run_path(str(SCRIPT))["parse_options"]()
    assert f"argument {arguments[-2]}" in capsys.readouterr().err
