"""A recipe trains on files of parallel text, and goes on after an interruption."""

import gzip
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

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
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "tokenizer.spm").write_bytes(b"of other data")  # without a log
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
    assert f"takes weights for the average every {steps} steps" in error
    (tmp_path / "val.es").unlink()
    assert "There is neither" in run(tmp_path, "--epochs", "2", refused=True)


def example(name, monkeypatch):
    monkeypatch.syspath_prepend(SCRIPT.parent)
    return runpy.run_path(str(SCRIPT.with_name(name)))


def test_parts_have_as_many_steps_as_asked_for_or_a_few_more(monkeypatch):
    equal_parts = example("train_recipe.py", monkeypatch)["equal_parts"]
    assert equal_parts(5270, 62) == (85, 62)
    assert equal_parts(100, 62) == (2, 50)
    assert equal_parts(1, 62) == (1, 1)
    for steps in range(1, 200):
        for most in range(1, 70):
            parts, size = equal_parts(steps, most)
            assert size <= most
            assert steps <= parts * size < steps + parts
            assert (parts - 1) * most < steps


@pytest.mark.parametrize(
    ("losses", "patience", "ends"),
    [
        ([], 2, False),
        ([3.0, 2.0], 2, False),
        ([3.0, 2.0, 2.5], 2, False),
        ([3.0, 2.0, 2.5, 2.1], 2, True),
        ([3.0, 2.0, 2.5, 1.9], 2, False),
        ([3.0, 2.0, 2.0, 2.0], 2, True),
        ([1.0, 2.0, 2.0, 2.0], None, False),
    ],
)
def test_training_ends_without_gain(losses, patience, ends, monkeypatch):
    log = SimpleNamespace(epochs=[{"val_loss": loss} for loss in losses])
    stop = example("run_log.py", monkeypatch)["StopWithoutGain"](log, patience)
    stop.set_model(SimpleNamespace(stop_training=False))
    stop.on_epoch_end(len(losses))
    assert stop.is_time() == stop.model.stop_training == ends


@pytest.mark.parametrize(
    "arguments",
    [
        ["--steps", "0"],
        ["--epochs", "x"],
        ["--steps", "2", "--epochs", "2"],
        ["--bleu-every", "0"],
    ],
)
def test_lengths_that_are_none_are_refused(arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["x", "wmt14_big", "--data", ".", *arguments])
    with pytest.raises(SystemExit):
        example("train_recipe.py", monkeypatch)["parse_options"]()
    assert f"argument {arguments[-2]}" in capsys.readouterr().err


def test_blank_sides_are_counted_and_none_is_left_out_of_a_test_set(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.syspath_prepend(SCRIPT.parent)
    read = runpy.run_path(str(SCRIPT.with_name("parallel_text.py")))["read_corpus"]
    write(tmp_path)
    for name in ("train.es", "check.es"):
        file = tmp_path / name
        before = file.read_text()
        file.write_text("".join(["\n", *before.splitlines(keepends=True)[1:]]))
        if name.startswith("train"):
            corpus = read(tmp_path, ("train", "val", "check"), ("en", "es"))
            assert [len(corpus.train), len(corpus.test)] == [283, 8]
            assert capsys.readouterr().out == (
                "train: 1 pairs with a blank side left out\n"
            )
    with pytest.raises(SystemExit, match="test set check has to have text"):
        read(tmp_path, ("train", "val", "check"), ("en", "es"))
