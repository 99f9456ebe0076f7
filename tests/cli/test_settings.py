"""Settings of `train`, their file and the folder of a run."""

import dataclasses
from pathlib import Path

import pytest
import yaml

from keras_transformer.cli.combined_settings import combined
from keras_transformer.cli.run_folder import as_plain, claim, held, read_settings
from keras_transformer.cli.train_settings import TrainSettings

pytestmark = pytest.mark.tensorflow_only


def test_the_file_gives_the_same_settings(tmp_path):
    settings = TrainSettings(
        pairs=tmp_path / "ä.tsv",
        size="small",
        steps=7,
        learning_rate=1e-5,
        dropout=0.0,
        output=tmp_path / "run",
        schedule="inverse-sqrt",
    ).resolved()
    claim(settings)
    read = read_settings(tmp_path / "run" / "run.yaml")
    assert list(read) == [field.name for field in dataclasses.fields(TrainSettings)]
    assert combined(read, {}) == settings
    assert combined(read, {}).resolved() == settings
    claim(settings)  # its own run


def test_a_size_decides_what_is_not_given():
    settings = TrainSettings(corpus="toy", size="base", num_layers=2).resolved()
    assert (settings.num_layers, settings.hidden_dim, settings.num_heads) == (2, 512, 8)
    assert (settings.epochs, settings.steps) == (10, None)
    assert settings.output.is_absolute()


def test_the_command_line_goes_before_the_file():
    read = as_plain(TrainSettings(corpus="toy", epochs=3, seed=4).resolved())
    assert combined(read, {"seed": 5}).seed == 5
    assert combined(read, {"seed": 5}).epochs == 3
    steps = combined(read, {"steps": 9})
    assert (steps.steps, steps.epochs, steps.corpus) == (9, None, "toy")
    pairs = combined(read, {"pairs": "p.tsv"})
    assert (pairs.pairs, pairs.corpus) == (Path("p.tsv"), None)
    base = combined(read, {"size": "base"}).resolved()
    assert (base.hidden_dim, base.learning_rate) == (512, 0.0007)


def test_numbers_of_a_file_may_be_written_as_people_do(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text("corpus: toy\nlearning_rate: 1e-3\nlength_penalty: 1\n")
    settings = combined(read_settings(file), {})
    assert settings.learning_rate == 0.001
    assert isinstance(settings.length_penalty, float)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("corpus: toy\nlr: 1\nepoch: 2", r"Received: lr, epoch\. Settings are pairs,"),
        ("- corpus", r"must hold `key: value` lines. Received: \['corpus'\]"),
        ("a: b: c", r"run.yaml must be YAML"),
        ("", r"must hold `key: value` lines. Received: None"),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path, text, words):
    file = tmp_path / "run.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match=words):
        read_settings(file)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, r"One of `pairs`, `source` with `target`, and `corpus` .* Received: none"),
        ({"corpus": "toy", "pairs": "a"}, "Received: pairs, corpus"),
        ({"source": "a"}, r"`source` and `target` go together. Received: a and None"),
        ({"pairs": "a", "validation_target": "b"}, "`validation_source` and"),
        ({"corpus": "toy", "validation_pairs": "b"}, "must be left out with `corpus`"),
        (
            {
                "pairs": "a",
                "validation_pairs": "b",
                "validation_source": "c",
                "validation_target": "d",
            },
            "exclude each other. Received: b and c",
        ),
        ({"corpus": "toy", "epochs": 1, "steps": 2}, "exclude .* Received: 1 and 2"),
        ({"corpus": "toy", "epochs": 0}, "`epochs` must be at least 1. Received: 0"),
        ({"corpus": "toy", "epochs": 1.5}, "`epochs` must be an integer. .* 1.5"),
        ({"corpus": "toy", "epochs": True}, "`epochs` must be an integer. .* True"),
        ({"corpus": "toy", "seed": None}, "`seed` must be an integer. .* None"),
        ({"corpus": 3}, "`corpus` must be a string. Received: 3"),
        ({"corpus": "toy", "output": 3}, "`output` must be a file name"),
        ({"corpus": "toy", "dropout": "much"}, "`dropout` must be a number"),
        ({"corpus": "toy", "learning_rate": "nan"}, "must be finite. Received: nan"),
        ({"corpus": "toy", "size": "big"}, "one of tiny, small, base. Received: big"),
    ],
)
def test_settings_are_checked(given, words):
    with pytest.raises(ValueError, match=words):
        TrainSettings(**given)


def test_one_process_at_a_time_trains_in_a_folder(tmp_path):
    with (
        held(tmp_path),
        pytest.raises(ValueError, match="no other process trains"),
        held(tmp_path),
    ):
        pass
    with held(tmp_path):  # is free again
        pass


def test_another_run_in_the_folder_is_refused(tmp_path):
    settings = TrainSettings(corpus="toy", output=tmp_path / "run").resolved()
    claim(settings)
    (settings.output / "backup").mkdir()  # training has begun
    other = dataclasses.replace(settings, learning_rate=0.5)
    with pytest.raises(
        ValueError, match=r"a run with `learning_rate` 0.003. Received: 0.5. Give"
    ):
        claim(other)
    with pytest.raises(ValueError, match=r"`pairs` not given. Received: /p.tsv"):
        claim(dataclasses.replace(settings, corpus=None, pairs=Path("/p.tsv")))
    before = (tmp_path / "run" / "run.yaml").read_text()
    assert yaml.safe_load(before)["learning_rate"] == 0.003
    claim(dataclasses.replace(settings, num_beams=9, checkpoint_every=5))  # are free
    assert read_settings(tmp_path / "run" / "run.yaml")["num_beams"] == 9


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ValueError, match=r"`output` must be a new folder, .* has no"):
        claim(TrainSettings(corpus="toy", output=tmp_path).resolved())


def test_another_corpus_takes_the_place_of_validation_files_too():
    read = {"pairs": "a.tsv", "validation_pairs": "b.tsv", "seed": 3}
    settings = combined(read, {"corpus": "toy"})
    assert (settings.pairs, settings.validation_pairs) == (None, None)
    assert (settings.corpus, settings.seed) == ("toy", 3)
