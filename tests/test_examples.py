"""The examples, with little work to do, as the README calls them."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import keras_transformer

PACKAGE = str(Path(keras_transformer.__file__).parents[1])
EXAMPLES = Path(__file__).parents[1] / "examples"

pytestmark = pytest.mark.tensorflow_only


def run(script, *arguments, folder):
    result = subprocess.run(
        [sys.executable, EXAMPLES / script, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": PACKAGE},
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_translate_trains_saves_and_exports_what_the_second_script_serves(tmp_path):
    pytest.importorskip("sacrebleu")
    output = run("translate.py", "--corpus", "toy", "--epochs", "1", folder=tmp_path)
    sentence = "The cats do not buy the book."
    lines = [line for line in output.splitlines() if sentence in line]
    assert len(lines) == 2  # after the epoch, and at the end
    assert "BLEU " in output
    served = tmp_path / "models" / "toy"
    assert {path.name for path in served.iterdir()} == {"1", "model.translator"}
    answer = run(
        "translate_saved_model.py", served / "1", sentence, "", folder=tmp_path
    )
    assert answer.split("\n")[:2] == [lines[-1].split(" -> ")[1], ""]


def test_translate_reads_pairs_of_ones_own(tmp_path, monkeypatch):
    file = tmp_path / "pairs.tsv"
    pairs = [(f"source {number}", f"target {number}") for number in range(50)]
    file.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    monkeypatch.setattr(sys, "argv", ["translate.py", "--pairs", str(file)])
    script = runpy.run_path(str(EXAMPLES / "translate.py"))
    corpus = script["read_corpus"](script["parse_options"]())
    assert sorted(corpus.train + corpus.validation + corpus.test) == sorted(pairs)
    assert len(corpus.test) > 0
