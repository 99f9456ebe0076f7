"""`Translator`: order, batches, scores, files and errors."""

import copy
import logging
import zipfile

import keras
import numpy as np
import pytest

from keras_transformer import (
    BeamSearch,
    GreedySearch,
    LearnedPositionalEncoding,
    Transformer,
    Translator,
    sentence_stream,
)
from tests.translators import (
    VOCABULARY_SIZE,
    sentences,
    small_model,
    small_translator,
    toy_corpus,
    toy_tokenizer,
)


def test_order_is_kept_and_blank_lines_stay_blank():
    translator = small_translator()
    lines = ["", *sentences(5), " \t", "A", sentences(1)[0]]
    translations = translator(lines)
    assert len(translations) == len(lines)
    assert translations[0] == translations[6] == ""
    assert translations[1] == translations[-1] == translator(sentences(1)[0])
    assert len(set(translations[1:6])) > 1


def test_three_lines_with_a_blank_middle():
    first, last = sentences(2)
    translations = small_translator()([first, "", last])
    assert len(translations) == 3
    assert translations[1] == ""
    assert translations[0]
    assert translations[2]


def test_no_sentences():
    assert small_translator()([]) == []


def test_a_batch_gives_what_each_sentence_gives_alone():
    translator = small_translator()
    lines = [*sentences(6), " ".join(sentences(9)), "Hi"]
    together = translator.n_best(lines, 3)
    for line, found in zip(lines, together, strict=True):
        alone = translator.n_best([line], 3)[0]
        assert [h.text for h in alone] == [h.text for h in found]
        np.testing.assert_allclose(
            [h.score for h in alone], [h.score for h in found], rtol=1e-4
        )


def test_a_stream_is_translated_in_order_and_read_by_windows(monkeypatch):
    monkeypatch.setattr(sentence_stream, "WINDOW", 5)
    translator = small_translator()
    lines = [*sentences(7), "", *sentences(4)]
    read = []

    def stream():
        for line in lines:
            read.append(line)
            yield line

    translations = translator.translate(stream())
    assert not read
    first = next(translations)
    assert len(read) == 5
    assert [first, *translations] == [translator(line) for line in lines]
    assert list(translator.translate([])) == []


def test_a_wrong_item_of_a_stream_is_named_by_its_number(monkeypatch):
    monkeypatch.setattr(sentence_stream, "WINDOW", 2)
    translator = small_translator()
    translations = translator.translate(iter(["a", "b", "c", 4]))
    assert len([next(translations), next(translations)]) == 2
    with pytest.raises(TypeError, match="4 at index 3"):
        next(translations)
    with pytest.raises(TypeError, match=r"must be a list of strings.*'abc'"):
        next(translator.translate("abc"))


def test_n_best_are_distinct_and_descend_among_the_finished():
    for found in small_translator().n_best(sentences(4), 3):
        assert len(found) == 3
        done = [h.score for h in found if h.finished]
        assert done == sorted(done, reverse=True)
        assert [h.finished for h in found] == sorted(
            (h.finished for h in found), reverse=True
        )


def test_score_sums_the_log_probabilities_of_tokens_and_end():
    translator = small_translator()
    source, target = toy_corpus().train[0]
    x = [*translator.tokenizer.tokenize([source])[0], 1]
    y = [int(i) for i in translator.tokenizer.tokenize([target])[0]]
    logits = translator.model(
        {"source_ids": np.array([x]), "target_ids": np.array([[2, *y]])}
    )
    log_probs = keras.ops.convert_to_numpy(keras.ops.log_softmax(logits))[0]
    expected = sum(log_probs[i, token] for i, token in enumerate([*y, 1]))
    assert translator.score([source], [target])[0] == pytest.approx(expected, rel=1e-4)


def test_a_cut_translation_is_marked_and_reported(caplog):
    translator = small_translator(max_length=3, search=GreedySearch())
    with caplog.at_level(logging.WARNING):
        translations = translator.n_best(sentences(4))
        translator(sentences(4))
    cut = [h[0] for h in translations if not h[0].finished]
    assert cut
    assert all(h.length == 2 for h in cut)
    assert f"{len(cut)} of 4 translations were cut" in caplog.text


def test_evaluate_scores_pairs_and_references_with_signatures():
    pytest.importorskip("sacrebleu")
    translator = small_translator(search=GreedySearch())
    scores = translator.evaluate(toy_corpus().test[:4])
    assert scores.sentences == 4
    assert 0 <= scores.bleu < 50
    assert "version:" in scores.bleu_signature
    own = translator(sentences(4))
    perfect = translator.evaluate(sentences(4), [["no", text] for text in own])
    assert perfect.chrf == pytest.approx(100)
    pairs = list(zip(sentences(4), own, strict=True))
    assert translator.evaluate(pairs).chrf == pytest.approx(100)
    turned = list(zip(sentences(4), [*own[1:], own[0]], strict=True))
    assert translator.evaluate(turned).chrf < 99


def test_a_saved_translator_translates_the_same(tmp_path):
    translator = small_translator(max_length=20)
    file = tmp_path / "new folder" / "toy.translator"
    translator.save(file)
    assert [path.name for path in file.parent.iterdir()] == ["toy.translator"]
    loaded = Translator.load(file)
    assert loaded.search == translator.search
    assert (loaded.max_length, loaded.batch_size) == (20, 4)
    assert loaded(sentences(5)) == translator(sentences(5))


def test_two_tokenizers_are_saved_and_loaded(tmp_path):
    model = Transformer(
        VOCABULARY_SIZE,
        target_vocabulary_size=370,
        num_layers=1,
        hidden_dim=8,
        num_heads=2,
        intermediate_dim=8,
    )
    translator = Translator(model, toy_tokenizer(), toy_tokenizer(370), max_length=8)
    translator.save(tmp_path / "two.translator")
    loaded = Translator.load(tmp_path / "two.translator")
    assert loaded.target_tokenizer.vocabulary_size() == 370
    assert loaded(sentences(3)) == translator(sentences(3))


def test_loading_what_is_not_ours_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="must be a file"):
        Translator.load(tmp_path / "missing")
    text = tmp_path / "text"
    text.write_text("no archive")
    with pytest.raises(ValueError, match=r"must be a saved Translator.*text"):
        Translator.load(text)
    model = tmp_path / "model.keras"
    small_model().save(model)
    with pytest.raises(ValueError, match=r"an archive of something else"):
        Translator.load(model)
    newer = tmp_path / "newer"
    with zipfile.ZipFile(newer, "w") as archive:
        content = '{"format": "keras_transformer.Translator", "version": 99}'
        archive.writestr("translator.json", content)
    with pytest.raises(ValueError, match="format version 99"):
        Translator.load(newer)


def test_vocabularies_of_different_sizes_are_an_error():
    with pytest.raises(ValueError, match=r"`model` and `tokenizer`.*380 and 370"):
        Translator(small_model(), toy_tokenizer(370))


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ({"sequence_length": 8}, r"must not pad or truncate .*sequence_length=8"),
        ({"add_bos": True}, r"must not add start or end.*: add_bos=True"),
        ({"add_eos": True}, r"must not add start or end.*: add_eos=True"),
    ],
)
def test_tokenizers_that_change_the_ids_are_an_error(option, error):
    model, plain = small_model(), toy_tokenizer()
    other = type(plain)(proto=plain.proto, **option)
    with pytest.raises(ValueError, match=f"`tokenizer` {error}"):
        Translator(model, other)
    with pytest.raises(ValueError, match=f"`target_tokenizer` {error}"):
        Translator(model, plain, other)


def test_another_padding_than_0_is_an_error():
    with pytest.raises(ValueError, match=r"pads with id 0.*pad_id=3"):
        Translator(small_model(pad_id=3), toy_tokenizer())


@pytest.mark.parametrize("options", [{"max_length": 0}, {"batch_size": 0}])
def test_sizes_below_one_are_an_error(options):
    with pytest.raises(ValueError, match=f"`{next(iter(options))}` must be"):
        small_translator(**options)


def test_wrong_types_are_named():
    translator = small_translator()
    with pytest.raises(TypeError, match=r"`sentences` must be.*None at index 1"):
        translator(["a", None])
    with pytest.raises(TypeError, match=r"`sentences` must be.*b'a'"):
        translator(b"a")
    with pytest.raises(TypeError, match=r"`sentences` must be.*Received: 3"):
        translator(3)
    with pytest.raises(ValueError, match=r"same length.*2 and 1"):
        translator.score(["a", "b"], ["c"])
    with pytest.raises(ValueError, match="`n_best` must be 1 with GreedySearch"):
        small_translator(search=GreedySearch()).n_best(["a"], 2)


def limited_translator(length=20, **options):
    """A translator whose model has learned positions, not a power of two."""
    model = small_model(position="learned", max_length=length)
    return Translator(model, toy_tokenizer(), **options)


def text_of(tokens, translator):
    """A text of that many tokens."""
    text = ""
    while len(translator.tokenizer.tokenize([text])[0]) < tokens:
        text += "!"
    assert len(translator.tokenizer.tokenize([text])[0]) == tokens
    return text


def test_a_limited_model_limits_the_translator():
    translator = limited_translator(max_length=100)
    assert translator.max_length == 20
    longest = text_of(19, translator)  # and the end
    assert len(translator([longest, "Yes"])) == 2
    assert translator.score([longest], ["Yes"])[0] < 0
    assert translator(["Yes", longest])[0] == translator("Yes")


def test_a_sentence_longer_than_the_positions_is_named(monkeypatch):
    translator = limited_translator()
    too_long = text_of(20, translator)
    with pytest.raises(ValueError, match=r"at most 19 tokens.*20 tokens at index 1"):
        translator(["Yes", too_long])
    with pytest.raises(ValueError, match=r"at most 19 tokens.*20 tokens at index 0"):
        translator.score(["Yes"], [too_long])
    monkeypatch.setattr(sentence_stream, "WINDOW", 2)
    with pytest.raises(ValueError, match=r"20 tokens at index 3"):
        translator(["", "", "", too_long])


def test_a_layer_of_learned_positions_limits_as_well():
    model = small_model(position=LearnedPositionalEncoding(20))
    assert model.max_length == 20
    assert Translator(model, toy_tokenizer()).max_length == 20


def test_a_model_of_nan_gives_no_translation_and_says_so(caplog):
    translator = small_translator()
    model = translator.model
    model.set_weights([weight * np.nan for weight in model.get_weights()])
    with caplog.at_level(logging.WARNING):
        assert translator([*sentences(2), ""]) == ["", "", ""]
    assert "2 of 3 sentences have no translation: the model gives NaN" in caplog.text
    assert "were cut" not in caplog.text
    found = translator.n_best(sentences(1))[0][0]
    assert not found.finished
    assert found.score == -np.inf


def test_half_a_surrogate_pair_is_named():
    with pytest.raises(ValueError, match=r"valid Unicode.*at index 1: '\\ud800'"):
        small_translator()(["a", "\ud800"])


def test_what_is_no_pair_or_has_no_reference_is_named_before_the_work():
    translator = small_translator()
    with pytest.raises(ValueError, match=r"pairs of strings.*at index 0: 'ab'"):
        translator.evaluate(["ab", "cd"])
    with pytest.raises(ValueError, match=r"at least one string.*'x' at index 0"):
        translator.evaluate(["a"], ["x"])
    with pytest.raises(ValueError, match=r"same length.*2 and 1"):
        translator.evaluate(["a", "b"], [["x"]])


@pytest.mark.parametrize("search", ["beam", BeamSearch])
def test_what_is_no_search_is_refused(search):
    with pytest.raises(TypeError, match="`search` must be a search such as"):
        small_translator(search=search)


def test_a_used_translator_can_be_copied():
    translator = small_translator(search=GreedySearch(), max_length=8)
    expected = translator(sentences(2))
    assert copy.copy(translator)(sentences(2)) == expected


def test_saving_to_a_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="`path` must be a file name"):
        small_translator().save(tmp_path)


@pytest.mark.skipif(keras.backend.backend() == "tensorflow", reason="exports there")
def test_export_names_the_backend_that_it_needs(tmp_path):
    with pytest.raises(RuntimeError, match="KERAS_BACKEND=tensorflow"):
        small_translator().export(tmp_path / "1")


def reference_scores(model, source_ids, target_ids):
    """The blocks' own scores, called one after the other without padding."""
    parts, maps = model.parts, {"encoder": [], "decoder": [], "cross": []}
    memory = parts.source(source_ids)
    for block in parts.encoder_blocks:
        memory, scores = block(memory, return_attention_scores=True)
        maps["encoder"].append(scores)
    x = parts.target(target_ids)
    for block in parts.decoder_blocks:
        x, own, cross = block(x, memory, return_attention_scores=True)
        maps["decoder"].append(own)
        maps["cross"].append(cross)
    return {
        name: np.stack([keras.ops.convert_to_numpy(x)[0] for x in layers])
        for name, layers in maps.items()
    }


def test_attention_of_given_translations():
    translator = Translator(small_model(num_layers=(3, 2)), toy_tokenizer())
    source, target = sentences(2), ["Hola.", "\u00bfQu\u00e9 tal, Ana?"]
    maps = translator.attention(source, target)
    for text, translation, found in zip(source, target, maps, strict=True):
        own, other = (translator.tokenizer.tokenize(x) for x in (text, translation))
        ids = [*map(int, own), 1], [2, *map(int, other)]
        assert found.encoder.shape == (3, 2, len(ids[0]), len(ids[0]))
        assert found.cross.shape == (2, 2, len(ids[1]), len(ids[0]))
        for name, expected in reference_scores(
            translator.model, *(np.array([row]) for row in ids)
        ).items():
            np.testing.assert_allclose(getattr(found, name), expected, atol=1e-5)
        assert found.source_tokens[-1] == found.predicted_tokens[-1] == "</s>"
        assert found.target_tokens[0] == "<s>"
        assert found.target_tokens[1:] == found.predicted_tokens[:-1]
        text_again = "".join(found.source_tokens[:-1]).replace("\u2581", " ").strip()
        assert text_again == text
        assert "cross: (2, 2," in repr(found)


def test_attention_of_its_own_translation():
    translator = small_translator()
    line = sentences(1)[0]
    alone, (first, _) = translator.attention(line), translator.attention([line, ""])
    np.testing.assert_allclose(alone.cross, first.cross, atol=1e-5)
    given = translator.attention(line, translator(line))
    assert alone.predicted_tokens == given.predicted_tokens
    assert translator.attention([]) == []
    with pytest.raises(ValueError, match="must have the same length"):
        translator.attention(["a"], [])


@pytest.mark.parametrize("call", ["translate", "n_best", "score", "attention"])
def test_sources_beyond_the_limit_are_refused_with_their_place(call):
    translator = small_translator(max_source_length=20)
    lines = ["Hello.", "word " * 20]
    given = (lines, lines) if call in ("score", "attention") else (lines,)
    with pytest.raises(ValueError, match=r"at most 19 tokens.*at index 1"):
        list(getattr(translator, call)(*given))


def test_the_limit_of_the_source_is_saved_and_exported(tmp_path, monkeypatch):
    translator = small_translator(max_source_length=20)
    translator.save(tmp_path / "model.translator")
    loaded = Translator.load(tmp_path / "model.translator")
    assert loaded.max_source_length == 20
    options = {}
    monkeypatch.setattr(
        "keras_transformer.translator.export_saved_model",
        lambda *arguments, **given: options.update(given),
    )
    loaded.export(tmp_path / "1", n_best=2)
    assert (options["max_source_length"], options["n_best"]) == (20, 2)
    learned = small_model(position="learned", max_length=12)
    small = Translator(learned, toy_tokenizer(), max_length=np.int64(10))
    assert small.max_source_length == 12
    small.save(tmp_path / "small.translator")
    assert Translator.load(tmp_path / "small.translator").max_length == 10
    with pytest.raises(ValueError, match="`max_source_length` must be"):
        small_translator(max_source_length=0)
