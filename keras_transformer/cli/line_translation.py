"""From a stream of lines to their translations, line for line."""

import itertools
import json
import math

from keras_transformer.cli.error_report import LinesFailedError

CHUNK = 1024  # lines that are tokenized together to learn their lengths
WINDOW = 8192  # lines of which the best few translations are searched together
SHOWN = 5  # line numbers in an error


class LineTranslation:
    """Translate lines, and note those that are too long.

    A line of more tokens than the model reads has a blank translation, so that the
    others keep their places; `check` raises an error in the end.

    Args:
        translator: a `Translator`.
    """

    def __init__(self, translator):
        self.translator = translator
        self.too_long = []  # the first few line numbers
        self.too_long_count = 0

    def texts(self, lines):
        """Yield a translation for each line; memory does not grow with their number."""
        for text in self.translator.translate(self._short_enough(lines)):
            yield one_line(text)

    def one_by_one(self, lines):
        """Yield a translation for each line as soon as the line is there."""
        for number, line in enumerate(lines, start=1):
            (text,) = self._checked([line], number)
            yield one_line(self.translator(text))

    def hypotheses(self, lines, n, *, at_once=False):
        """Yield a line's number and its `n` best hypotheses, for each line.

        With `at_once`, of each line before the next one is read.
        """
        checked, number = self._short_enough(lines, 1 if at_once else CHUNK), 0
        while window := list(itertools.islice(checked, 1 if at_once else WINDOW)):
            for found in self.translator.n_best(window, n):
                number += 1
                yield number, found

    def check(self):
        """Raise `LinesFailedError` if lines were too long."""
        if self.too_long_count:
            shown = ", ".join(map(str, self.too_long))
            more = self.too_long_count - len(self.too_long)
            raise LinesFailedError(
                f"{self.too_long_count} lines have more than "
                f"{self.translator.max_source_length - 1} tokens and a blank "
                f"translation: {shown}" + (f" and {more} more." if more else ".")
            )

    def _short_enough(self, lines, size=CHUNK):
        lines, first = iter(lines), 1
        while chunk := list(itertools.islice(lines, size)):
            yield from self._checked(chunk, first)
            first += len(chunk)

    def _checked(self, chunk, first):
        tokens = self.translator.tokenizer.tokenize(chunk)
        most = self.translator.max_source_length - 1
        for number, (line, ids) in enumerate(
            zip(chunk, tokens, strict=True), start=first
        ):
            if len(ids) > most:
                self.too_long_count += 1
                if len(self.too_long) < SHOWN:
                    self.too_long.append(number)
            yield "" if len(ids) > most else line


def one_line(text):
    """Return a text without ends of lines, which a model can generate."""
    return text.replace("\r", " ").replace("\n", " ")


def tab_separated(number, hypotheses):
    """Return a line for each hypothesis: line number, score and text."""
    return "".join(
        f"{number}\t{hypothesis.score:.4f}\t{one_line(hypothesis.text)}\n"
        for hypothesis in hypotheses
    )


def as_json(number, hypotheses):
    """Return a line of JSON for each hypothesis."""
    return "".join(
        json.dumps(
            {
                "line": number,
                # A blank translation that was not found scores minus infinity.
                "score": hypothesis.score if math.isfinite(hypothesis.score) else None,
                "translation": hypothesis.text,
                "finished": hypothesis.finished,
            },
            ensure_ascii=False,
        )
        + "\n"
        for hypothesis in hypotheses
    )
