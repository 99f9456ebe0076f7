"""BLEU and chrF of translations, by sacreBLEU."""

import importlib
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class CorpusScores:
    """Scores of a set of translations.

    Attributes:
        bleu: BLEU, from 0 to 100.
        chrf: chrF2, from 0 to 100.
        bleu_signature: sacreBLEU's signature of the BLEU: what was computed how.
        chrf_signature: sacreBLEU's signature of the chrF.
        sentences: number of translations.
    """

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str
    sentences: int

    def __str__(self):
        """Return the scores and signatures, as people read them."""
        return (
            f"BLEU {self.bleu:.1f}, chrF {self.chrf:.1f} of {self.sentences} sentences "
            f"({self.bleu_signature}; {self.chrf_signature})"
        )

    def to_dict(self):
        """Return the scores as plain values."""
        return asdict(self)


def corpus_scores(translations, references, *, tokenize="13a", lowercase=False):
    """Score translations with sacreBLEU.

    Args:
        translations: list of strings.
        references: for each translation, a list of one or more right answers.
        tokenize: sacreBLEU's tokenizer for BLEU.
        lowercase: whether upper and lower case are the same.

    Returns:
        `CorpusScores`.

    Raises:
        ImportError: without sacrebleu.
        ValueError: for lists of different lengths, nothing to score, a sentence
            without reference, or a tokenizer that sacreBLEU doesn't have.

    Reference: Post, 2018, "A Call for Clarity in Reporting BLEU Scores".
    """
    check_references(translations, references)
    check_tokenize(tokenize)
    metrics = _sacrebleu().metrics
    bleu = metrics.BLEU(tokenize=tokenize, lowercase=lowercase)
    chrf = metrics.CHRF()
    most = max(len(answers) for answers in references)
    streams = [
        [answers[i] if i < len(answers) else None for answers in references]
        for i in range(most)
    ]
    return CorpusScores(
        bleu=bleu.corpus_score(translations, streams).score,
        chrf=chrf.corpus_score(translations, streams).score,
        bleu_signature=str(bleu.get_signature()),
        chrf_signature=str(chrf.get_signature()),
        sentences=len(translations),
    )


def check_references(sentences, references):
    """Raise an error unless there is a list of references for each sentence."""
    if not sentences or len(sentences) != len(references):
        raise ValueError(
            "Sentences and `references` must be lists of the same length, at least 1. "
            f"Received: {len(sentences)} and {len(references)}."
        )
    for number, answers in enumerate(references):
        if isinstance(answers, str) or not answers:
            raise ValueError(
                "`references` must hold a list of at least one string for each "
                f"sentence. Received: {answers!r} at index {number}."
            )
    _sacrebleu()


def check_tokenize(tokenize):
    """Raise an error unless sacreBLEU has a tokenizer of that name."""
    known = _sacrebleu().metrics.BLEU.TOKENIZERS
    if tokenize not in known:
        names = ", ".join(sorted(known))
        raise ValueError(f"`tokenize` must be one of {names}. Received: {tokenize!r}.")


def _sacrebleu():
    try:
        return importlib.import_module("sacrebleu")
    except ImportError as error:
        raise ImportError(
            "BLEU and chrF need sacrebleu: pip install sacrebleu"
        ) from error
