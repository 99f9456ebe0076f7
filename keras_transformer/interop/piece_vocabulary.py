"""The pieces of a SentencePiece tokenizer, in the order of their ids."""

from keras_transformer.text.optional_imports import require


class PieceVocabulary:
    """As many names as a model has ids.

    Ids past the tokenizer's last get a name with a space, which no piece has.
    SentencePiece itself refuses models that hold a piece twice, so that names and ids
    belong together one by one.

    Args:
        name: name of the argument that holds the tokenizer.
        tokenizer: a `keras_hub.tokenizers.SentencePieceTokenizer`.
        size: number of ids of the model.

    Attributes:
        pieces: list of `size` strings.
        unknown: the piece for unknown text.
        proto: the SentencePiece model, bytes.

    Raises:
        ImportError: without sentencepiece.
        ValueError: for a tokenizer without a SentencePiece model, or with more pieces
            than `size`.
    """

    def __init__(self, name, tokenizer, size):
        proto = getattr(tokenizer, "proto", None)
        if not proto:
            raise ValueError(
                f"`{name}` must be a SentencePiece tokenizer. "
                f"Received: {type(tokenizer).__name__}."
            )
        self.proto = proto
        sentencepiece = require("sentencepiece", "export_ctranslate2")
        processor = sentencepiece.SentencePieceProcessor(model_proto=proto)
        count = processor.get_piece_size()
        if count > size:
            raise ValueError(
                f"`{name}` must have no more pieces than the model has ids, {size}. "
                f"Received: {count}."
            )
        known = [processor.id_to_piece(index) for index in range(count)]
        self.pieces = [*known, *(f"<unused {index}>" for index in range(count, size))]
        self.unknown = self.pieces[processor.unk_id()]
