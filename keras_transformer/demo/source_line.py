"""What a model can read of a line."""

from keras_transformer.text.encoded_pairs import EncodedTexts

UNKNOWN_TOKENS = ("<unk>", "[UNK]")


class SourceLine:
    """A line of text as a tokenizer reads it.

    Args:
        text: the line.
        tokenizer: a KerasHub tokenizer.
    """

    def __init__(self, text, tokenizer):
        self.text = text
        self._tokenizer = tokenizer
        (self._tokens,) = self._tokenize([text])

    def __len__(self):
        """Return the number of tokens."""
        return len(self._tokens)

    def unknown_characters(self):
        """Return the characters that the tokenizer has no token for, each once.

        With byte fallback, which `train_tokenizer` has if not told otherwise, there
        are none.
        """
        if not _has_unknown(self._tokens):
            return []
        characters = list(dict.fromkeys(self.text))
        tokens = self._tokenize(characters)
        pairs = zip(characters, tokens, strict=True)
        return [character for character, own in pairs if _has_unknown(own)]

    def _tokenize(self, texts):
        encoded = EncodedTexts.from_texts(texts, self._tokenizer)
        return [
            [self._tokenizer.id_to_token(int(i)) for i in encoded.ids[start:][:length]]
            for start, length in zip(encoded.starts, encoded.lengths, strict=True)
        ]


def _has_unknown(tokens):
    return any(token in UNKNOWN_TOKENS for token in tokens)
