"""What the page asks of a translator, as plain values."""

import math

from keras_transformer.demo.source_line import SourceLine
from keras_transformer.models import Transformer
from keras_transformer.visualization import attention_data

MOST_SHOWN = 5  # translations of a sentence, if the search gives so many
MOST_ATTENTION_TOKENS = 100  # of a side: maps grow with the square


class NoAttention(ValueError):
    """There are no attention maps to show, with a sentence on why."""


class TranslationService:
    """Answer the page's questions with a translator.

    Only one call at a time may run.

    Args:
        translator: a `Translator`.
    """

    def __init__(self, translator):
        self._translator = translator
        # Each number is a search to compile: the page always asks for the same one.
        self.largest_n_best = getattr(translator.search, "num_beams", 1)
        self.n_best = min(self.largest_n_best, MOST_SHOWN)

    def info(self):
        """Return what the page says of the model and the search."""
        model, search = self._translator.model, self._translator.search
        return {
            "model": type(model).__name__,
            "parameters": int(model.count_params()),
            "search": type(search).__name__,
            "settings": search.get_config(),
            "n_best": self.n_best,
            "max_tokens": self._translator.max_source_length - 1,
            "attention": isinstance(model, Transformer),
        }

    def translate_line(self, text, n_best=None):
        """Translate a line.

        Args:
            text: the line.
            n_best: number of translations, at most `largest_n_best`.

        Returns:
            `{"source", "translations", "notes", "error"}`: the line, a list of
            dictionaries, the best first; sentences on what to know about them; and a
            sentence on why there are none, or `None`. A blank line has neither
            translations nor an error.
        """
        answer = {"source": text, "translations": [], "notes": [], "error": None}
        if not text.strip():
            return answer
        line = SourceLine(text, self._translator.tokenizer)
        answer["error"] = self._reason_against(line)
        if answer["error"]:
            return answer
        (found,) = self._translator.n_best([text], n_best or self.n_best)
        found = [one for one in found if math.isfinite(one.score)]
        if not found:
            answer["error"] = (
                "The model finds no translation: its numbers are not finite, or the "
                "search's options leave no token."
            )
        answer["notes"] = list(_notes(line, found))
        answer["translations"] = [
            {
                "text": one.text,
                "score": one.score,
                "log_probability": one.log_probability,
                "tokens": one.length,
                "finished": one.finished,
            }
            for one in found
        ]
        return answer

    def attention(self, source, target):
        """Return the attention maps of a sentence and a translation, see the viewer.

        Raises:
            NoAttention: for a model without maps, a blank source, or a side that is
                too long.
        """
        model = self._translator.model
        if not isinstance(model, Transformer):
            raise NoAttention(
                f"This model, a {type(model).__name__}, gives no attention maps: only "
                "a Transformer does."
            )
        tokenizers = self._translator.tokenizer, self._translator.target_tokenizer
        texts = {"sentence": source, "translation": target}
        for (name, text), tokenizer in zip(texts.items(), tokenizers, strict=True):
            tokens = len(SourceLine(text, tokenizer))
            if tokens > MOST_ATTENTION_TOKENS:
                raise NoAttention(
                    f"Attention is shown for up to {MOST_ATTENTION_TOKENS} tokens. "
                    f"This {name} has {tokens:,}."
                )
            if not tokens and name == "sentence":
                raise NoAttention("A blank sentence has no attention maps.")
        try:
            return attention_data(self._translator.attention(source, target))
        except ValueError as error:
            raise NoAttention(f"There are no attention maps: {error}") from error

    def warm_up(self, text):
        """Translate a short text, so that the first visitor need not wait for it."""
        answer = self.translate_line(text)
        if answer["translations"] and self.info()["attention"]:
            self.attention(text, answer["translations"][0]["text"])

    def _reason_against(self, line):
        most = self._translator.max_source_length - 1
        if len(line) > most:
            return (
                f"This line is too long for the model: it has {len(line):,} tokens, "
                f"and a sentence may have {most:,}."
            )
        if not len(line):
            return "The tokenizer finds nothing to translate in this line."
        return None


def _notes(line, found):
    unknown = line.unknown_characters()
    if unknown:
        yield (
            "The model does not know these characters, and reads each as the same "
            f"unknown one: {' '.join(unknown)}"
        )
    if found and not found[0].finished:
        yield "This translation was cut at the limit of length."
