"""A translator whose translations are known, and may be made to wait."""

import threading

from keras_transformer import BeamSearch, Translator
from keras_transformer.decoding.hypothesis import Hypothesis
from tests.translators import small_model, toy_tokenizer


class ScriptedTranslator(Translator):
    """Give "TEXT", "TEXT (2)" and so on; text with "wait" in it takes until `go`."""

    def __init__(self, **options):
        defaults = {"search": BeamSearch(num_beams=3), "max_length": 64}
        super().__init__(small_model(), toy_tokenizer(), **{**defaults, **options})
        self.asked = []
        self.overlapped = False
        self.begun = threading.Event()
        self.go = threading.Event()
        self._turn = threading.Lock()

    def n_best(self, sentences, n=None):
        if not self._turn.acquire(blocking=False):
            self.overlapped = True
            raise RuntimeError("two calls at a time")
        try:
            return [self._scripted(text, n) for text in sentences]
        finally:
            self._turn.release()

    def _scripted(self, text, n):
        self.asked.append(text)
        if "wait" in text:
            self.begun.set()
            assert self.go.wait(20)
        if "break" in text:
            raise RuntimeError("broken on purpose")
        lost = float("-inf") if "nothing" in text else 0.0
        return [
            Hypothesis(
                text if place == 0 else f"{text} ({place + 1})",
                score=-0.5 * (place + 1) + lost,
                log_probability=-1.25 * (place + 1) + lost,
                length=4 + place,
                finished="cut" not in text,
            )
            for place in range(n)
        ]
