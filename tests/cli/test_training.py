"""`train`: a run from its settings to its translator."""

import errno
import json

import numpy as np
import pytest

from keras_transformer import Translator
from keras_transformer.cli.run_folder import read_settings
from keras_transformer.cli.train_settings import TrainSettings
from keras_transformer.cli.training_data import read_corpus, tokenizer_of
from keras_transformer.training import training_backup
from keras_transformer.training.array_file import read_arrays
from tests.cli.programs import SMALL, write_pairs

pytestmark = pytest.mark.tensorflow_only

STEPS = "--steps=40"  # of about 16 batches an epoch, so the last one is a part


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("data") / "pairs.tsv", 130)


@pytest.fixture
def train(call, pairs):
    def train(folder, *options):
        given = ("--pairs", pairs, *SMALL, STEPS, "--preview=0", "--average-last=2")
        return call("train", *given, "--checkpoint-every=5", "-o", folder, *options)

    return train


def weights_of(folder):
    return Translator.load(folder / "model.translator").model.get_weights()


def assert_same(one, other):
    for a, b in zip(weights_of(one), weights_of(other), strict=True):
        np.testing.assert_array_equal(a, b)
    arrays = [read_arrays(x / "backup" / "backup.npz")[0] for x in (one, other)]
    assert arrays[0].keys() == arrays[1].keys()
    for name, array in arrays[0].items():
        np.testing.assert_array_equal(array, arrays[1][name], err_msg=name)


def test_a_run_its_files_and_its_repetition(train, call, tmp_path):
    run, again = tmp_path / "run", tmp_path / "again"
    code, output, errors = train(run)
    assert (code, output) == (0, f"{run / 'model.translator'}\n")
    for words in (
        "Device",
        "tensorflow",
        "float32",
        "1 + 1 layers of width 16",
        "40 st",
    ):
        assert words in errors
    assert {path.name for path in run.iterdir()} == {
        *("backup", "log.json", "model.translator", "run.yaml"),
        *("test.source", "test.target", "tokenizer.spm"),
    }
    log = json.loads((run / "log.json").read_text())
    batches = log["epochs"][0]["step"]
    assert [entry["step"] for entry in log["epochs"]] == [*(batches, 2 * batches, 40)]
    assert 2 * batches < 40
    assert {"loss", "val_loss", "seconds"} <= log["epochs"][1].keys()
    assert log["backend"].startswith("tensorflow ")
    assert read_settings(run / "run.yaml")["steps"] == 40
    assert errors.endswith(f"keras-transformer translate {run / 'model.translator'}\n")

    arrays, _ = read_arrays(run / "backup" / "backup.npz")
    copies = arrays["averaging.0"]  # the first weights at the ends of two epochs
    assert np.abs(copies[0] - copies[1]).max() > 1e-4
    np.testing.assert_allclose(weights_of(run)[0], copies.mean(axis=0), atol=1e-6)

    config = ("--config", run / "run.yaml")
    code, output, errors = call("train", *config, "--output", again, "--quiet")
    assert (code, output, errors) == (0, f"{again / 'model.translator'}\n", "")
    assert_same(run, again)
    before = (run / "log.json").read_text()
    code, _, errors = call("train", *config, "--num-beams=2")
    assert code == 0
    assert "finished before" in errors
    assert (run / "log.json").read_text() == before
    assert_same(run, again)

    code, _, errors = call("train", *config, "--seed=3")
    assert code == 2
    assert errors.startswith(f"Error: {run} has a run with `seed` 0. Received: 3.")


class Interrupt:
    """Break training off when a checkpoint is written for the n-th time."""

    def __init__(self, monkeypatch, at, error):
        self.left = at
        self.error, self.write = error, training_backup.write_arrays
        monkeypatch.setattr(training_backup, "write_arrays", self)

    def __call__(self, path, *arguments):
        self.left -= 1
        if self.left == 0:
            raise self.error
        self.write(path, *arguments)


def test_an_interrupted_run_goes_on_with_the_same_weights(train, tmp_path, monkeypatch):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    train(whole)
    with monkeypatch.context() as patch:
        Interrupt(patch, 4, KeyboardInterrupt())  # at the end of the first epoch
        code, output, errors = train(broken)
    assert (code, output) == (130, "")
    assert errors.splitlines()[-1] == (
        "Interrupted. Go on from the last checkpoint with: keras-transformer train "
        f"--config {broken / 'run.yaml'}"
    )
    with monkeypatch.context() as patch:
        Interrupt(patch, 1, KeyboardInterrupt())
        *_, errors = train(tmp_path / "early")
    assert errors.splitlines()[-1].startswith("Interrupted. Begin again with: ")
    log = json.loads((broken / "log.json").read_text())
    assert [entry["epoch"] for entry in log["epochs"]] == [1]  # which is not saved
    code, _, errors = train(broken)
    assert code == 0
    assert "goes on after step 15\n" in errors
    assert_same(whole, broken)
    steps = [
        [entry["step"] for entry in json.loads((x / "log.json").read_text())["epochs"]]
        for x in (whole, broken)
    ]
    assert steps[0] == steps[1]


def test_a_full_disk_is_reported_and_leaves_the_checkpoint(
    train, tmp_path, monkeypatch
):
    run = tmp_path / "run"
    saved, error = np.savez, OSError(errno.ENOSPC, "No space left on device")

    def savez(file, **arrays):
        saved(file, **arrays)
        if (run / "backup" / "backup.npz").exists():
            raise error

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", savez)
        code, output, errors = train(run, "--quiet")
    backup = run / "backup" / "backup.npz"
    assert (code, output) == (1, "")
    assert errors == f"Error: {backup}: No space left on device\n"
    assert [path.name for path in backup.parent.iterdir()] == ["backup.npz"]
    assert read_arrays(backup)[1]["position"] == 5


def test_what_is_not_finite_ends_the_run(train, tmp_path):
    code, _, errors = train(
        tmp_path / "run", "--learning-rate=1e30", "--warmup-steps=1", "--quiet"
    )
    assert code == 1
    assert "Error: Training stopped after step " in errors.splitlines()[-1]
    (entry,) = json.loads((tmp_path / "run" / "log.json").read_text())["epochs"]
    assert entry["loss"] is None
    assert "--learning-rate" in errors.splitlines()[-1]


def test_parallel_files_and_validation_files(call, pairs, tmp_path):
    lines = [line.split("\t") for line in pairs.read_text().splitlines()]
    source, target = tmp_path / "a.en", tmp_path / "a.es"
    source.write_text("".join(f"{line[0]}\n" for line in lines))
    target.write_text("".join(f"{line[1]}\n" for line in lines[:-1]))
    given = ("--source", source, "--target", target, *SMALL, "--steps=1")
    validation = ("--validation-source", source, "--validation-target", target)
    code, _, errors = call("train", *given, *validation, "-o", tmp_path / "run")
    assert code == 2
    assert "as many lines as each other. Received: 130 lines" in errors
    assert errors.count("\n") == 1
    target.write_text("".join(f"{line[1]}\n" for line in lines))
    code, _, errors = call("train", *given, *validation, "-o", tmp_path / "run")
    assert code == 0
    assert "  " in errors  # a preview
    assert " -> " in errors
    assert not (tmp_path / "run" / "test.source").exists()


def test_settings_that_fail_at_once_can_be_corrected(call, pairs, tmp_path):
    given = ("--pairs", pairs, *SMALL, "--steps=1", "-o", tmp_path / "run")
    code, _, errors = call("train", *given, "--num-heads=3")
    assert code == 2
    assert "num_heads" in errors
    code, _, errors = call("train", *given, "--vocabulary-size=390")
    assert code == 0
    assert "390 pieces" in errors
    code, _, errors = call("train", *given)
    assert code == 2
    assert "a run with `vocabulary_size` 390. Received: 380" in errors


def test_pairs_that_are_left_out_are_counted(call, pairs, tmp_path):
    file = tmp_path / "more.tsv"
    lines = pairs.read_text().splitlines(keepends=True)
    file.write_text("".join([*lines, lines[0], "no target\t\n", "\t\n"]))
    given = ("--pairs", file, *SMALL, "--steps=1")
    code, _, errors = call("train", *given, "-o", tmp_path / "run")
    assert code == 0
    assert "Left out    2 with a blank side, 1 duplicates\n" in errors
    validation = ("--validation-pairs", file, "-o", tmp_path / "validated")
    _, _, errors = call("train", *given, *validation)
    assert "Left out    4 with a blank side\n" in errors


def test_other_data_of_the_same_size_are_refused_and_the_test_set_stays(
    call, pairs, tmp_path
):
    file = tmp_path / "pairs.tsv"
    file.write_text(pairs.read_text())
    run = tmp_path / "run"
    given = ("--pairs", file, *SMALL, "--held-out=0.1", "-o", run)
    assert call("train", *given, "--steps=1")[0] == 0
    before = (run / "test.source").read_text()
    lines = file.read_text().splitlines(keepends=True)
    for changed in ([*lines[1:], lines[0]], [*lines, "a\tb\n", "c\td\n"]):
        file.write_text("".join(changed))
        code, _, errors = call("train", *given, "--steps=1")
        assert code == 2
        assert "`data` must be as it was" in errors
        assert (run / "test.source").read_text() == before


@pytest.mark.parametrize(
    ("given", "sizes"),
    [({}, [3600, 200, 200]), ({"held_out": 0.1}, [3200, 400, 400])],
)
def test_as_much_of_a_named_corpus_is_held_out_as_settings_say(given, sizes):
    corpus = read_corpus(TrainSettings(corpus="toy", **given))
    splits = (corpus.train, corpus.validation, corpus.test)
    assert [len(split) for split in splits] == sizes


def test_a_damaged_log_is_named(call, pairs, tmp_path):
    given = ("--pairs", pairs, *SMALL, "--steps=1", "-o", tmp_path / "run")
    assert call("train", *given)[0] == 0
    for content in ("{}", "[]", "{"):
        (tmp_path / "run" / "log.json").write_text(content)
        code, _, errors = call("train", *given)
        assert code == 2
        assert f"{tmp_path / 'run' / 'log.json'} is no log of `train`" in errors


def test_a_vocabulary_that_is_not_given_is_as_large_as_the_text_allows(tmp_path):
    class Corpus:
        train = (("a dog sees a dog", "two dogs"),)

    tokenizer = tokenizer_of(Corpus, None, tmp_path)
    assert 260 < tokenizer.vocabulary_size() < 300
    assert tokenizer_of(Corpus, 5, tmp_path).vocabulary_size() > 260  # read again
    with pytest.raises(ValueError, match="`vocabulary_size` must be at most"):
        tokenizer_of(Corpus, 5000, tmp_path / "other")


def test_wrong_use(call, tmp_path):
    (tmp_path / "run.yaml").write_text("corpus: toy\nrate: 1\n")
    for arguments, words in (
        ([], "One of `pairs`, `source` with `target`, and `corpus` must be given"),
        (["--pairs", "nowhere.tsv"], "'nowhere.tsv' does not exist"),
        (["--config", tmp_path / "run.yaml"], "Received: rate. Settings are pairs"),
        (["--corpus=toy", "--size=huge"], "'huge' is not one of"),
        (["--corpus=toy", "--length-penalty=9", "-o", tmp_path / "run3"], "[-8, 8]"),
        (["--corpus=latin", "-o", tmp_path / "run"], "toy, or tatoeba: and the code"),
        (["--corpus=tatoeba:xx", "-o", tmp_path / "run2"], "`language` must be one"),
        (
            [
                f"--pairs={write_pairs(tmp_path / 'pairs.tsv', 4)}",
                f"--validation-pairs={tmp_path / 'pairs.tsv'}",
                "--held-out=0.1",
            ],
            "`held_out` must be left out with validation files",
        ),
    ):
        code, output, errors = call("train", *arguments)
        assert (code, output) == (2, ""), arguments
        assert words in errors
        assert errors.startswith("Error: ")
        assert errors.count("\n") == 1
