"""Model, tokenizers and search as one object that translates."""

import logging

import keras

from keras_transformer.argument_checks import check_positive_integer
from keras_transformer.decoding import BatchGenerator, BeamSearch
from keras_transformer.decoding.search import check_search
from keras_transformer.export import (
    export_saved_model,
    read_translator,
    write_translator,
)
from keras_transformer.interop import export_ctranslate2
from keras_transformer.models.transformer import check_transformer
from keras_transformer.pair_stream import PairStream
from keras_transformer.progress import with_progress
from keras_transformer.sentence_stream import NOT_FOUND, hypotheses_of
from keras_transformer.text.corpus import checked_pairs
from keras_transformer.text.encoded_pairs import decode_texts
from keras_transformer.text.sentence_batches import check_sentences
from keras_transformer.text.special_ids import SpecialIds
from keras_transformer.training import corpus_scores
from keras_transformer.training.corpus_scores import check_references, check_tokenize

logger = logging.getLogger(__name__)


class Translator:
    """Translate text with a model, its tokenizers and a search.

    Args:
        model: a `Transformer`, or another model of `start` and `step`, such as
            `RecurrentSeq2Seq` and `ConvolutionalSeq2Seq`.
        tokenizer: a KerasHub tokenizer of the source; of the target too, if there is
            no other.
        target_tokenizer: a KerasHub tokenizer of the target.
        search: `BeamSearch`, `GreedySearch` or `Sampling`; a beam search with 4 beams
            if not given.
        max_length: largest number of target positions. The limit for a sentence is
            `min(2 * source tokens + 16, max_length)`.
        max_source_length: largest number of source positions, its end included. It
            bounds memory, which grows with the square of a sentence's length.
        batch_size: number of sentences translated together.

    Raises:
        ValueError: if the vocabularies of model and tokenizers differ in size, or a
            size is below 1.

    Examples:
        >>> from keras_transformer import Transformer, Translator
        >>> from keras_transformer import corpora, train_tokenizer
        >>> corpus = corpora.toy(200)
        >>> tokenizer = train_tokenizer(corpus.train, vocabulary_size=380)
        >>> model = Transformer(380, num_layers=1, hidden_dim=16, num_heads=2,
        ...                     intermediate_dim=32)
        >>> translator = Translator(model, tokenizer, max_length=16)
        >>> translator(["", " "])
        ['', '']
    """

    def __init__(
        self,
        model,
        tokenizer,
        target_tokenizer=None,
        *,
        search=None,
        max_length=256,
        max_source_length=1024,
        batch_size=32,
    ):
        self.model = model
        self.tokenizer = tokenizer
        self.target_tokenizer = target_tokenizer or tokenizer
        self.search = check_search(BeamSearch() if search is None else search)
        self.max_length = check_positive_integer("max_length", max_length)
        self.max_source_length = check_positive_integer(
            "max_source_length", max_source_length
        )
        if model.max_length is not None:
            self.max_length = min(self.max_length, model.max_length)
            self.max_source_length = min(self.max_source_length, model.max_length)
        self.batch_size = check_positive_integer("batch_size", batch_size)
        _check_vocabularies(model, self.tokenizer, self.target_tokenizer)
        self._special_ids = SpecialIds(
            end=model.end_id, start=model.start_id, pad=model.pad_id
        )
        self._special_ids.check_tokenizer("tokenizer", self.tokenizer)
        self._special_ids.check_tokenizer("target_tokenizer", self.target_tokenizer)
        self._forget_compiled()

    def __call__(self, sentences):
        """Translate.

        Args:
            sentences: a list of strings, or one string. Any number, in any order;
                blank ones stay blank.

        Returns:
            A list of strings, or one string. Translations that were cut at the limit
            of length are reported by a logged warning.
        """
        single = isinstance(sentences, str)
        texts = list(self.translate([sentences] if single else sentences))
        return texts[0] if single else texts

    def translate(self, sentences):
        """Translate a stream of sentences.

        Memory does not grow with their number: 8,192 at a time are read, sorted into
        batches of about the same length and translated.

        Args:
            sentences: an iterable of strings, a generator of the lines of a file for
                example.

        Yields:
            The translation of each sentence, in order. Those that were cut at the
            limit of length are reported by a logged warning in the end.

        Raises:
            ValueError: for a sentence of more than `max_source_length` positions.
        """
        lost = cut = total = 0
        for best, *_ in self._hypotheses(sentences, self._search_for(1)):
            lost += best == NOT_FOUND
            cut += best != NOT_FOUND and not best.finished
            total += 1
            yield best.text
        if lost:
            logger.warning(
                "%d of %d sentences have no translation: the model gives NaN, or the "
                "search's options leave no token.",
                lost,
                total,
            )
        if cut:
            logger.warning(
                "%d of %d translations were cut at the limit of length: "
                "min(2 * source tokens + 16, max_length=%d).",
                cut,
                total,
                self.max_length,
            )

    def n_best(self, sentences, n=None):
        """Translate, and return the best few translations with their scores.

        Args:
            sentences: a list of strings.
            n: number of translations, `n_best` of the search; its own if not given.

        Returns:
            For each sentence a list of `Hypothesis`, the best first; fewer than `n`
            if no more were found. A blank sentence has one blank hypothesis; a
            sentence for which the model gives NaN only, or the search's options leave
            no token, has one that is blank and not finished, of score -inf.

        Raises:
            ValueError: for an `n` that the search cannot give, or a sentence of more
                than `max_source_length` positions.
        """
        sentences = check_sentences("sentences", sentences)
        return list(self._hypotheses(sentences, self._search_for(n)))

    def _hypotheses(self, sentences, search):
        self._check_compiled()
        key = repr(search)
        if key not in self._generators:
            self._generators[key] = BatchGenerator(self.model, search, self.max_length)
        hypotheses = hypotheses_of(
            sentences,
            self._generators[key],
            self.tokenizer,
            self._special_ids,
            self._decode,
            self.batch_size,
            self.max_source_length,
        )
        number = len(sentences) if hasattr(sentences, "__len__") else None
        return with_progress(hypotheses, number, "Translating")

    def score(self, source, target):
        """Score given translations.

        Args:
            source: a list of strings.
            target: a list of their translations.

        Returns:
            A list of log-probabilities, the end included.

        Raises:
            ValueError: for lists of different lengths, or a sentence of more than
                `max_source_length` positions.
        """
        return self._pair_stream().scores(source, target, self.batch_size)

    def attention(self, source, target=None):
        """Look at what every head attends to.

        Args:
            source: a list of strings, or one string.
            target: their translations; the translator's own if not given, tokenized
                again, which may give other tokens than were generated.

        Returns:
            A list of `AttentionMaps`, or one: the tokens of both sides, and the maps
            of the encoder, the decoder and between them, by layer and head.

        Raises:
            TypeError: for a model that is no `Transformer`.
            ValueError: for lists of different lengths, or a sentence of more than
                `max_source_length` positions.
        """
        check_transformer(self.model)  # before the long work
        if isinstance(source, str):
            target = None if target is None else [target]
            return self.attention([source], target)[0]
        source = check_sentences("source", source)
        target = self(source) if target is None else target
        return self._pair_stream().attention_maps(source, target)

    def evaluate(self, pairs, references=None, *, tokenize="13a", lowercase=False):
        """Translate held-out sentences and score them with sacreBLEU.

        Args:
            pairs: a list of (source, target) pairs; or of sources, with `references`.
            references: for each source, a list of right translations.
            tokenize: sacreBLEU's tokenizer for BLEU.
            lowercase: whether BLEU ignores case.

        Returns:
            `CorpusScores`: BLEU and chrF with their signatures.

        Raises:
            ImportError: without sacrebleu.
            ValueError: for what is no pair of strings, or a source without reference.
        """
        if references is None:
            checked = list(checked_pairs("pairs", pairs))
            sources = [source for source, _ in checked]
            references = [[target] for _, target in checked]
        else:
            sources = check_sentences("pairs", pairs)
        check_references(sources, references)  # before the long work
        check_tokenize(tokenize)
        return corpus_scores(
            self(sources), references, tokenize=tokenize, lowercase=lowercase
        )

    def save(self, path):
        """Write model, tokenizers and search into one file.

        Args:
            path: where to; by custom it ends in `.translator`.
        """
        tokenizers = {"source": self.tokenizer}
        if self.target_tokenizer is not self.tokenizer:
            tokenizers["target"] = self.target_tokenizer
        config = {
            "search": keras.saving.serialize_keras_object(self.search),
            "max_length": self.max_length,
            "max_source_length": self.max_source_length,
            "batch_size": self.batch_size,
        }
        write_translator(path, self.model, tokenizers, config)

    @classmethod
    def load(cls, path):
        """Read a translator that `save` wrote, on any backend.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if the file is not a saved translator.
        """
        model, tokenizers, config = read_translator(path)
        return cls(
            model,
            tokenizers["source"],
            tokenizers.get("target"),
            search=keras.saving.deserialize_keras_object(config["search"]),
            max_length=config["max_length"],
            max_source_length=config.get("max_source_length", 1024),
            batch_size=config["batch_size"],
        )

    def export(self, path, **options):
        """Write a SavedModel for TensorFlow Serving, see `export_saved_model`.

        Args:
            path: folder to make, `models/es/1` for a server of `models/es`.
            **options: `search`, `max_length`, `max_source_length`, `n_best`,
                `attention` and `warm_up`. The first three are the translator's own if
                not given.
        """
        own = {
            "search": self.search,
            "max_length": self.max_length,
            "max_source_length": self.max_source_length,
        }
        tokenizers = self.tokenizer, self.target_tokenizer
        export_saved_model(path, self.model, *tokenizers, **{**own, **options})

    def export_ctranslate2(self, path, *, quantization=None):
        """Write a model for CTranslate2, see `interop.export_ctranslate2`.

        Args:
            path: folder to make.
            quantization: `None`, or a type of CTranslate2's such as `"int8"`.
        """
        tokenizers = self.tokenizer, self.target_tokenizer
        export_ctranslate2(path, self.model, *tokenizers, quantization=quantization)

    def __getstate__(self):
        """Leave compiled functions out of copies and pickles."""
        return {**self.__dict__, "_generators": {}, "_pairs": None}

    def _forget_compiled(self):
        self._generators, self._pairs = {}, None
        self._variables = [id(variable) for variable in self.model.variables]

    def _check_compiled(self):
        # `quantize` gives a model other variables; compiled functions keep the old.
        if [id(variable) for variable in self.model.variables] != self._variables:
            self._forget_compiled()

    def _pair_stream(self):
        self._check_compiled()
        if self._pairs is None:
            tokenizers = self.tokenizer, self.target_tokenizer
            self._pairs = PairStream(
                self.model, tokenizers, self._special_ids, self.max_source_length
            )
        return self._pairs

    def _search_for(self, n):
        return self.search if n is None else self.search.with_n_best(n)

    def _decode(self, ids):
        return decode_texts(ids, self.target_tokenizer)


def _check_vocabularies(model, tokenizer, target_tokenizer):
    if model.pad_id != 0:
        raise ValueError(
            f"A Translator pads with id 0. Received: a model of pad_id={model.pad_id}."
        )
    for name, own, other in (
        ("tokenizer", model.vocabulary_size, tokenizer),
        ("target_tokenizer", model.target_vocabulary_size, target_tokenizer),
    ):
        size = other.vocabulary_size()
        if size != own:
            raise ValueError(
                f"`model` and `{name}` must have vocabularies of the same size. "
                f"Received: {own} and {size}."
            )
