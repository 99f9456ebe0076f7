"""Sample translations while a model trains."""

import sys

import keras


class TranslationPreview(keras.callbacks.Callback):
    """Print the translations of a few sentences after each epoch.

    Args:
        translate: a function of a list of strings to a list of strings, such as a
            `Translator` of the model that trains.
        sentences: list of strings.

    Raises:
        ValueError: without sentences.
    """

    def __init__(self, translate, sentences):
        super().__init__()
        if isinstance(sentences, str) or not sentences:
            raise ValueError(
                "`sentences` must be a list of at least one string. "
                f"Received: {sentences!r}."
            )
        self.translate = translate
        self.sentences = list(sentences)

    def on_epoch_end(self, epoch, logs=None):
        """Translate and print."""
        translations = self.translate(self.sentences)
        sys.stdout.write("\n")  # the progress bar has not ended its line
        for sentence, translation in zip(self.sentences, translations, strict=True):
            sys.stdout.write(f"  {sentence} -> {translation}\n")
        sys.stdout.flush()
