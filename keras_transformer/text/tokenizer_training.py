"""Training SentencePiece tokenizers."""

import io
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from keras_transformer.text.optional_imports import missing, require

if TYPE_CHECKING:
    from keras_hub.tokenizers import SentencePieceTokenizer

MODEL_TYPES = ("bpe", "unigram")
NORMALIZATIONS = ("nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf", "identity")
SPECIAL_PIECES = {
    "pad_id": 0,
    "eos_id": 1,
    "bos_id": 2,
    "unk_id": 3,
    "pad_piece": "<pad>",
    "eos_piece": "</s>",
    "bos_piece": "<s>",
    "unk_piece": "<unk>",
}
LONGEST_SENTENCE = 2**30  # bytes; longer sentences would be skipped in silence
SKIPPED_CHARACTER = "\u2585"  # SentencePiece leaves out sentences that hold it


class FewPiecesError(ValueError):
    """The sentences hold fewer pieces than were asked for.

    Attributes:
        largest: the most that they hold.
    """

    def __init__(self, message: str, largest: int):
        super().__init__(message)
        self.largest = largest


def train_tokenizer(
    sentences: Iterable[str] | Iterable[tuple[str, str]],
    vocabulary_size: int,
    *,
    model_type: str = "bpe",
    normalization: str = "nfkc",
    byte_fallback: bool = True,
    character_coverage: float = 1.0,
) -> "SentencePieceTokenizer":
    """Trains a SentencePiece tokenizer in memory.

    Ids 0 to 3 are padding, end, start and unknown. The text "<s>" or "</s>" is
    ordinary text and never gives these ids. With `byte_fallback`, characters
    outside the vocabulary become UTF-8 bytes, so none is lost: decoding gives
    back the text after its normalisation, with spaces trimmed and runs of them
    as one. One exception is SentencePiece's own: it writes a space as U+2581,
    so a U+2581 in the text comes back as a space.

    The same sentences in the same order give the same tokenizer.

    Args:
        sentences: Strings or `(source, target)` pairs; both sides of pairs are
            used, for one vocabulary shared by both languages.
        vocabulary_size: Number of ids, special ids and byte pieces included.
        model_type: `"bpe"` or `"unigram"`.
        normalization: SentencePiece's name of a Unicode normalisation: `"nfkc"`,
            `"nmt_nfkc"`, the two with `"_cf"` for case folding, or `"identity"`.
        byte_fallback: Writes rare characters as bytes instead of unknown.
        character_coverage: Share of the text's characters that get pieces of
            their own. Lower it (0.9995) for thousands of distinct characters.

    Returns:
        A `keras_hub.tokenizers.SentencePieceTokenizer`.

    Raises:
        ImportError: keras-hub or sentencepiece is missing.
        ValueError: No text, an element that is neither string nor pair, an
            unknown option, or a vocabulary too large or too small for the text.

    Examples:
        >>> tokenizer = train_tokenizer(["a dog sees a dog", "two dogs"], 275)
        >>> tokenizer.detokenize([tokenizer.tokenize("a dog")])
        ['a dog']
    """
    _check_options(vocabulary_size, model_type, normalization, character_coverage)
    sentencepiece = require("sentencepiece", "train_tokenizer")
    keras_hub = require("keras_hub", "train_tokenizer")
    texts = _Texts(sentences)
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_writer=model,
            vocab_size=vocabulary_size,
            model_type=model_type,
            normalization_rule_name=normalization,
            byte_fallback=byte_fallback,
            character_coverage=character_coverage,
            max_sentence_length=LONGEST_SENTENCE,
            minloglevel=2,
            **SPECIAL_PIECES,
        )
    except RuntimeError as error:
        if texts.error is not None:
            raise texts.error from None
        raise _explained(error, vocabulary_size, texts.count) from error
    try:
        return keras_hub.tokenizers.SentencePieceTokenizer(proto=model.getvalue())
    except ImportError as error:
        raise ImportError(missing("tensorflow_text", "train_tokenizer")) from error


class _Texts:
    """Yields texts as UTF-8; keeps its count and the error that stopped it."""

    def __init__(self, sentences):
        self.sentences = sentences
        self.count = 0
        self.error: Exception | None = None

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._encoded()
        except Exception as error:  # SentencePiece would hide it in its own
            self.error = error
            raise

    def _encoded(self) -> Iterator[bytes]:
        if isinstance(self.sentences, str):
            raise ValueError(
                "`sentences` must be an iterable of strings or pairs of strings. "
                f"Received one string: {self.sentences[:40]!r}."
            )
        for index, element in enumerate(self.sentences):
            for text in _texts_of(element, index):
                self.count += bool(text.strip())
                yield _utf8(text.replace(SKIPPED_CHARACTER, " "), index)


def _texts_of(element, index: int) -> tuple[str, ...]:
    if isinstance(element, str):
        return (element,)
    if (
        isinstance(element, tuple | list)
        and len(element) == 2
        and all(isinstance(text, str) for text in element)
    ):
        return tuple(element)
    raise ValueError(
        "`sentences` must hold strings or pairs of strings. Received at index "
        f"{index}: {element!r}."
    )


def _utf8(text: str, index: int) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"`sentences` must hold valid Unicode. Received at index {index}: {text!r}."
        ) from error


def _check_options(vocabulary_size, model_type, normalization, character_coverage):
    if type(vocabulary_size) is not int or vocabulary_size < 1:
        raise ValueError(
            f"`vocabulary_size` must be an integer >= 1. Received: {vocabulary_size!r}."
        )
    if model_type not in MODEL_TYPES:
        raise ValueError(
            f"`model_type` must be one of {MODEL_TYPES}. Received: {model_type!r}."
        )
    if normalization not in NORMALIZATIONS:
        raise ValueError(
            f"`normalization` must be one of {NORMALIZATIONS}. "
            f"Received: {normalization!r}."
        )
    if not 0.98 <= character_coverage <= 1:
        raise ValueError(
            "`character_coverage` must be in [0.98, 1]. "
            f"Received: {character_coverage!r}."
        )


def _explained(error: RuntimeError, size: int, texts: int) -> Exception:
    """Puts what SentencePiece says about its options into our words."""
    if texts == 0:
        return ValueError("`sentences` must hold some text. Received: none.")
    message = str(error)
    if largest := re.search(r"too high .* value <= (\d+)", message):
        return FewPiecesError(
            f"`vocabulary_size` must be at most {largest[1]} for these sentences, "
            f"which hold no more pieces. Received: {size}.",
            int(largest[1]),
        )
    if smallest := re.search(r"required_chars\. \d+ vs (\d+)", message):
        return ValueError(
            f"`vocabulary_size` must be at least {smallest[1]} for these sentences: "
            "special ids, bytes (with `byte_fallback`) and each character take one "
            f"id. Received: {size}. A lower `character_coverage` "
            "or `byte_fallback=False` needs fewer."
        )
    if size <= 4:
        return ValueError(
            f"`vocabulary_size` must be above 4, the number of special ids. "
            f"Received: {size}."
        )
    return error
