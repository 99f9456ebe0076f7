import os
import subprocess
import sys
import unicodedata

import pytest

from keras_transformer.text import corpora, train_tokenizer

pytestmark = pytest.mark.tensorflow_only  # nothing here depends on a backend

SENTENCES = ["the cat sat on the mat", "hello world, there it is"] * 5
HOSTILE = [
    "a<s>b </s> x</s>y <unk> <pad> <s> <0x41> a<0x41>b",
    "k<s>m j<s>p r<unk>s t<0x41>u <0x41> z<pad>",
] * 50


@pytest.fixture
def tokenizer():  # for each test: older KerasHub loses it when a seed is set
    return train_tokenizer(corpora.toy(300).train, 400)


def encoded(tokenizer, text):
    return tokenizer.tokenize([text])[0]


def decoded(tokenizer, text):
    return tokenizer.detokenize([encoded(tokenizer, text)])[0]


def test_special_pieces(tokenizer):
    pieces = [tokenizer.id_to_token(index) for index in range(5)]
    assert pieces == ["<pad>", "</s>", "<s>", "<unk>", "<0x00>"]
    assert tokenizer.vocabulary_size() == 400


def test_pairs_and_their_sides_give_the_same():
    pairs = [(f"uno {i}", f"one {i}") for i in range(9)]
    texts = [text for pair in pairs for text in pair]
    from_pairs, from_texts = train_tokenizer(pairs, 280), train_tokenizer(texts, 280)
    assert from_pairs.proto == from_texts.proto
    assert train_tokenizer(iter(pairs), 280).proto == from_pairs.proto


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
@pytest.mark.parametrize(("sentences", "size"), [(SENTENCES, 278), (HOSTILE, 274)])
def test_control_ids_never_come_from_text(model_type, sentences, size):
    tokenizer = train_tokenizer(sentences, size, model_type=model_type)
    texts = ["<s> </s> <pad> <unk>", "a<s>b", "</s>", "<pad>", "<unk>", "<0x41>"]
    for text in texts:
        assert not {0, 1, 2, 3} & set(encoded(tokenizer, text))
        assert decoded(tokenizer, text) == text


@pytest.mark.parametrize(
    "text",
    [
        "😀 👩‍👩‍👧 flags 🇪🇸",
        "日本語 中文 한국어",
        "nul \0 inside",
        "tab\tand\nnewline",
        "e\u0301 n\u0303 q\u0323\u0307",
        "\U00010330 \U0001f9ff \ufffd \u2585 \u00ad",
        "ﬁne ① Å \uff46\uff55\uff4c",
    ],
)
def test_no_character_is_lost(tokenizer, text):
    assert decoded(tokenizer, text) == unicodedata.normalize("NFKC", text)
    assert 3 not in encoded(tokenizer, text)


def test_spaces_are_trimmed_and_collapsed(tokenizer):
    assert decoded(tokenizer, "  the \u3000 dog\u00a0 ") == "the dog"


def test_identity_keeps_compatibility_characters():
    tokenizer = train_tokenizer(SENTENCES, 290, normalization="identity")
    assert decoded(tokenizer, "ﬁne ①") == "ﬁne ①"


def test_without_byte_fallback_rare_characters_are_unknown():
    tokenizer = train_tokenizer(SENTENCES, 30, byte_fallback=False)
    assert 3 in encoded(tokenizer, "日")


def test_long_and_odd_sentences_are_learned_from():
    sentences = ["qqqq " * 2000, "\u2585 wwww wwww wwww wwww", *SENTENCES]
    pieces = train_tokenizer(sentences, 290).get_vocabulary()
    assert any("qq" in piece for piece in pieces)
    assert any("ww" in piece for piece in pieces)


def test_training_is_quiet_and_leaves_no_files(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    train_tokenizer(SENTENCES, 280)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_size_limits_are_named_and_hold(model_type):
    def train(size):
        return train_tokenizer(SENTENCES, size, model_type=model_type)

    with pytest.raises(ValueError, match=r"`vocabulary_size` must be at most") as error:
        train(9000)
    largest = int(str(error.value).split("at most ")[1].split()[0])
    assert str(error.value).endswith("Received: 9000.")
    assert train(largest).vocabulary_size() == largest
    with pytest.raises(ValueError, match=r"`vocabulary_size` must be at most"):
        train(largest + 1)
    with pytest.raises(
        ValueError, match=r"`vocabulary_size` must be at least"
    ) as error:
        train(262)
    smallest = int(str(error.value).split("at least ")[1].split()[0])
    assert smallest == 4 + 256 + len(set("".join(SENTENCES)))
    assert train(smallest).vocabulary_size() == smallest


@pytest.mark.parametrize("size", [3, 4])
def test_no_room_for_anything(size):
    with pytest.raises(ValueError, match=r"`vocabulary_size` must be .*Received: \d\."):
        train_tokenizer(SENTENCES, size, byte_fallback=False)


@pytest.mark.parametrize("sentences", [[], ["", "  "], [("", " ")]])
def test_no_text(sentences):
    with pytest.raises(ValueError, match="`sentences` must hold some text"):
        train_tokenizer(sentences, 300)


@pytest.mark.parametrize("element", [3, None, ("a",), ("a", 1), b"a"])
def test_elements_are_strings_or_pairs(element):
    with pytest.raises(ValueError, match=r"`sentences` must hold strings .* index 1: "):
        train_tokenizer(["a", element], 300)


def test_one_string_and_broken_unicode():
    with pytest.raises(ValueError, match="Received one string: 'abc'"):
        train_tokenizer("abc", 300)
    with pytest.raises(ValueError, match=r"valid Unicode. Received at index 1: "):
        train_tokenizer(["a", "\ud800"], 300)


def test_errors_of_the_iterable_are_kept():
    def sentences():
        yield "a"
        raise LookupError("the reader broke")

    with pytest.raises(LookupError, match="the reader broke"):
        train_tokenizer(sentences(), 300)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("vocabulary_size", 0),
        ("vocabulary_size", 8e3),
        ("model_type", "word"),
        ("normalization", "nfc"),
        ("character_coverage", 0.5),
        ("character_coverage", 1.5),
    ],
)
def test_options_are_checked(option, value):
    with pytest.raises(ValueError, match=rf"`{option}` must be .*Received: '?{value}"):
        train_tokenizer(SENTENCES, **{"vocabulary_size": 300, option: value})


@pytest.mark.parametrize("module", ["keras_hub", "sentencepiece"])
def test_missing_package_says_how_to_install(monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"`train_tokenizer` needs .*: pip install "):
        train_tokenizer(SENTENCES, 280)


def test_missing_tensorflow_text_says_how_to_install(monkeypatch):
    import keras_hub

    def needs_it(proto):
        raise ImportError("several\nlines")

    monkeypatch.setattr(keras_hub.tokenizers, "SentencePieceTokenizer", needs_it)
    with pytest.raises(
        ImportError, match=r"^`train_[^\n]*: pip install tensorflow-text$"
    ):
        train_tokenizer(SENTENCES, 280)


def test_importing_the_package_is_light():
    code = (
        "import sys, keras_transformer.text\n"
        "heavy = {'tensorflow_text', 'keras_hub', 'sentencepiece'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], env=os.environ, capture_output=True, check=False
    )
    assert result.returncode == 0, result.stderr.decode()[-300:]


def test_graph_and_python_give_the_same_ids(tokenizer):
    import tensorflow as tf

    pytest.importorskip("tensorflow_text")
    texts = ["the dog", "<s> </s> 😀 日", "a\tb", "a\0b", "<pad>"]
    dataset = tf.data.Dataset.from_tensor_slices(texts).map(tokenizer)
    graph = [ids.numpy().tolist() for ids in dataset]
    assert graph == [encoded(tokenizer, text) for text in texts]
