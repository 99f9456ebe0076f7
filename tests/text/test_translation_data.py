import logging
import time

import keras
import keras_hub
import keras_nlp
import numpy as np
import pytest

from keras_transformer.text import (
    Corpus,
    TranslationData,
    batch_shapes,
    corpora,
    encoded_pairs,
    train_tokenizer,
)

INPUTS = "source_ids", "target_ids"


class Letters:
    """One id per letter: a is 4, b is 5, ..."""

    def tokenize(self, texts):
        return [[ord(letter) - 93 for letter in text] for text in texts]


def words(count, seed=0):
    generator = np.random.default_rng(seed)
    return [
        tuple(
            "".join(chr(97 + i) for i in generator.integers(0, 26, length))
            for length in generator.integers(1, 30) + generator.integers(0, 4, 2)
        )
        for _ in range(count)
    ]


def epoch(dataset):
    return [
        (inputs["source_ids"].numpy(), inputs["target_ids"].numpy(), labels.numpy())
        for inputs, labels in dataset
    ]


def rows(batches):
    """The pairs of an epoch as letters, with the frame checked."""
    pairs = []
    for source, target, labels in batches:
        for x, y_in, y_out in zip(source, target, labels, strict=True):
            if not x.any():
                assert not y_in.any()
                assert not y_out.any()
                continue
            x, y_in, y_out = (
                row[: np.flatnonzero(row)[-1] + 1] for row in (x, y_in, y_out)
            )
            assert x[-1] == y_out[-1] == 1
            assert y_in[0] == 2
            assert y_in[1:].tolist() == y_out[:-1].tolist()
            pairs.append(
                tuple("".join(chr(93 + i) for i in ids) for ids in (x[:-1], y_in[1:]))
            )
    return pairs


def same(first, second):
    return all(
        len(a) == len(b) and all(map(np.array_equal, a, b))
        for a, b in zip(first, second, strict=True)
    )


def test_known_batch():
    pairs = [("ab", "c"), ("d", "efg")]
    data = TranslationData(pairs, Letters(), shuffle=False, max_shapes=1)
    ((source, target, labels),) = epoch(data.train)
    assert source.tolist() == [[4, 5, 1], [7, 1, 0]]
    assert target.tolist() == [[2, 6, 0, 0], [2, 8, 9, 10]]
    assert labels.tolist() == [[6, 1, 0, 0], [8, 9, 10, 1]]
    assert {source.dtype, target.dtype, labels.dtype} == {np.dtype("int32")}
    assert data.shapes == [(2, 3, 4)]
    assert data.padding_share == pytest.approx(1 - (3 + 2 + 2 + 4) / 14)


def test_texts_are_encoded_in_chunks_and_all_of_them(monkeypatch):
    pairs = words(40)
    whole = TranslationData(Corpus(train=pairs), Letters(), shuffle=False)
    monkeypatch.setattr(encoded_pairs, "CHUNK", 7)
    parts = TranslationData(Corpus(train=pairs), Letters(), shuffle=False)
    assert same(epoch(parts.train), epoch(whole.train))
    assert sorted(rows(epoch(parts.train))) == sorted(pairs)
    assert set(parts.too_long.values()) == {0}


@pytest.mark.parametrize("rows_multiple_of", [1, 3])
def test_more_lengths_than_the_search_for_shapes_tries(rows_multiple_of):
    generator = np.random.default_rng(5)
    lengths = np.concatenate([np.arange(1, 121), generator.integers(1, 121, 380)])
    both = np.clip(lengths[:, None] + generator.integers(-5, 6, (500, 2)), 1, 120)
    both[119] = 120
    pairs = [
        tuple("".join(chr(97 + i) for i in generator.integers(0, 26, n)) for n in row)
        for row in both
    ]
    assert len(np.unique(both)) > batch_shapes.GRID
    data = TranslationData(
        Corpus(train=pairs),
        Letters(),
        tokens_per_batch=900,
        max_length=130,
        rows_multiple_of=rows_multiple_of,
    )
    batches = epoch(data.train)
    assert sorted(rows(batches)) == sorted(pairs)
    assert 1 < len(data.shapes) <= 12
    for batch, source, target in data.shapes:
        assert batch * (source + target) <= 900
        assert batch % rows_multiple_of == 0
    longest = np.max(data.shapes, axis=0)
    assert longest[1:].tolist() == [121, 121]
    assert data.padding_share < 0.3


def test_no_tuner_that_the_end_of_an_epoch_would_wait_for():
    corpus = Corpus(train=words(20), validation=words(20))
    data = TranslationData(corpus, Letters(), tokens_per_batch=600)
    for dataset in (data.train, data.validation):
        assert dataset.options().autotune.enabled is False


@pytest.mark.parametrize(("limit", "padding"), [(None, 0.03), (12, 0.2)])
def test_every_pair_once_within_budget_and_shapes(limit, padding):
    pairs = words(2000)
    data = TranslationData(
        Corpus(train=pairs),
        Letters(),
        tokens_per_batch=600,
        max_length=40,
        max_shapes=limit,
    )
    batches = epoch(data.train)
    assert sorted(rows(batches)) == sorted(pairs)
    shapes = {(*source.shape, target.shape[1]) for source, target, _ in batches}
    assert shapes == set(data.shapes)
    assert 1 < len(shapes) <= (limit or len(batches))
    assert all(batch * (source + target) <= 600 for batch, source, target in shapes)
    assert len(batches) == int(data.train.cardinality())
    positions = sum(source.size + target.size for source, target, _ in batches)
    real = sum(len(x) + len(y) + 2 for x, y in pairs)
    assert data.padding_share == pytest.approx(1 - real / positions)
    assert data.padding_share < padding


class Traced(keras.layers.Layer):
    """Counts how often it is traced."""

    def __init__(self):
        super().__init__()
        self.times = 0

    def call(self, inputs):
        self.times += 1
        return inputs


@pytest.mark.tensorflow_only  # JAX compiles each shape, PyTorch traces nothing
def test_one_traced_step_takes_all_shapes():
    source, target = (keras.Input((None,), dtype="int32", name=n) for n in INPUTS)
    traced = Traced()
    context = keras.layers.Embedding(40, 4)(source)
    context = keras.layers.GlobalAveragePooling1D(keepdims=True)(context)
    logits = traced(keras.layers.Embedding(40, 40)(target))
    model = keras.Model([source, target], logits + keras.layers.Dense(1)(context))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    data = TranslationData(
        words(2000), Letters(), tokens_per_batch=600, max_shapes=None
    )
    assert len(data.shapes) > 50
    model.fit(data.train, epochs=2, shuffle=False, verbose=0)
    assert traced.times <= 4


def test_unlimited_batches_change_by_pairs_of_the_same_lengths_only():
    pairs = words(2000)
    data = TranslationData(pairs, Letters(), tokens_per_batch=600, max_shapes=None)

    def batches():
        return [rows([batch]) for batch in epoch(data.train)]

    def lengths(batch):
        return sorted((len(source), len(target)) for source, target in batch)

    first, second = batches(), batches()
    assert {frozenset(batch) for batch in first} != {frozenset(b) for b in second}
    assert sorted(map(lengths, first)) == sorted(map(lengths, second))


def test_unlimited_batches_are_full():
    data = TranslationData(
        words(2000), Letters(), tokens_per_batch=600, max_shapes=None
    )
    positions = sorted(x.size + y.size for x, y, _ in epoch(data.train))
    assert positions[1] > 0.8 * 600  # but for the last
    assert np.mean(positions) > 0.95 * 600


def test_more_shapes_pad_less():
    shares = [
        TranslationData(words(3000), Letters(), max_shapes=shapes).padding_share
        for shapes in (1, 4, 12, 40)
    ]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.4
    assert shares[-1] < 0.08


@pytest.mark.parametrize(("limit", "most"), [(None, 0), (12, 1)])
def test_rows_of_padding_are_few(limit, most):
    data = TranslationData(
        words(2000), Letters(), tokens_per_batch=600, max_shapes=limit
    )
    batches = epoch(data.train)
    empty = [int((~source.any(axis=1)).sum()) for source, _, _ in batches]
    assert max(empty) <= most


@pytest.mark.parametrize("limit", [None, 12])
@pytest.mark.parametrize("multiple", [3, 8])
def test_rows_are_a_multiple_and_pairs_and_budget_as_before(multiple, limit):
    pairs = words(2000)
    data = TranslationData(
        Corpus(train=pairs, validation=pairs[:50]),
        Letters(),
        tokens_per_batch=700,
        max_length=40,
        max_shapes=limit,
        rows_multiple_of=multiple,
    )
    for split, wanted in ((data.train, pairs), (data.validation, pairs[:50])):
        batches = epoch(split)
        assert sorted(rows(batches)) == sorted(wanted)
        for source, target, _ in batches:
            assert len(source) % multiple == 0
            assert source.size + target.size <= 700
            assert int((~source.any(axis=1)).sum()) <= multiple
    assert {shape[0] for shape in data.shapes} != {multiple}


def test_the_description_tells_the_ids_apart():
    pairs = words(50)
    other = [(source, target[::-1]) for source, target in pairs]
    descriptions = [
        TranslationData(some, Letters()).description for some in (pairs, pairs, other)
    ]
    assert descriptions[0] == descriptions[1] != descriptions[2]
    assert TranslationData(pairs, Letters(), end_id=3).description != descriptions[0]


def test_few_pairs_are_not_spread_over_many_batches():
    data = TranslationData(words(40), Letters())
    assert int(data.train.cardinality()) == 1


@pytest.mark.parametrize("limit", [None, 12])
def test_epochs_differ_and_are_reproducible(limit):
    def epochs(seed, count=3):
        data = TranslationData(
            words(1000), Letters(), tokens_per_batch=600, max_shapes=limit, seed=seed
        )
        return [epoch(data.train) for _ in range(count)]

    first, second = epochs(1), epochs(1)
    assert all(map(same, first, second))
    assert rows(first[0]) != rows(first[1]) != rows(first[2])
    assert sorted(rows(first[0])) == sorted(rows(first[1]))
    batch_mates = [{frozenset(rows([batch])) for batch in e} for e in first]
    assert batch_mates[0] != batch_mates[1]
    assert rows(epochs(2, 1)[0]) != rows(first[0])


def test_epoch_can_be_set_to_resume():
    def data():
        return TranslationData(words(300), Letters(), tokens_per_batch=600, seed=1)

    whole = data()
    epochs = [epoch(whole.train) for _ in range(3)]
    assert whole.epoch == 3
    resumed = data()
    resumed.epoch = 2
    assert same(epoch(resumed.train), epochs[2])
    with pytest.raises(ValueError, match=r"`epoch` must be .*Received: -1"):
        resumed.epoch = -1


def test_a_look_at_the_first_batches_uses_up_no_epoch():
    data = TranslationData(words(300), Letters(), tokens_per_batch=600)
    looked = epoch(data.train.take(2))
    assert data.epoch == 0
    whole = epoch(data.train)
    assert same(looked, whole[:2])
    assert data.epoch == 1


def test_an_epoch_counts_when_its_last_batch_is_asked_for():
    data = TranslationData(words(300), Letters(), tokens_per_batch=600)
    iterator = iter(data.train)
    for _ in range(int(data.train.cardinality()) - 1):
        next(iterator)
    time.sleep(0.2)  # what runs ahead has had its time
    assert data.epoch == 0
    next(iterator)
    assert data.epoch == 1


def test_iterations_side_by_side_give_whole_epochs():
    def data():
        return TranslationData(words(300), Letters(), tokens_per_batch=600)

    whole = epoch(data().train)
    zipped = data()
    pairs = list(zip(zipped.train, zipped.train, strict=True))
    for side in zip(*pairs, strict=True):
        assert same(epoch(side), whole)
    assert zipped.epoch == 1
    nested = data()
    outer = iter(nested.train)
    first = [next(outer) for _ in range(3)]
    assert same(epoch(nested.train), whole)
    assert nested.epoch == 1
    assert not same(epoch(nested.train.take(3)), whole[:3])
    assert same(epoch([*first, *outer]), whole)


def test_without_shuffling_every_epoch_is_the_same():
    data = TranslationData(words(300), Letters(), tokens_per_batch=600, shuffle=False)
    assert same(epoch(data.train), epoch(data.train))


def test_validation_is_fixed_and_complete():
    corpus = Corpus(train=words(50), validation=words(70, seed=9))
    data = TranslationData(corpus, Letters(), tokens_per_batch=256)
    batches = epoch(data.validation)
    assert sorted(rows(batches)) == sorted(corpus.validation)
    assert same(batches, epoch(data.validation))
    assert len(batches) == int(data.validation.cardinality())
    assert data.epoch == 0


def test_validation_split_off_an_iterable():
    data = TranslationData(iter(words(50)), Letters(), validation=10)
    assert len(rows(epoch(data.validation))) == 10
    assert len(rows(epoch(data.train))) == 40
    assert TranslationData(words(50), Letters()).validation is None
    with pytest.raises(
        ValueError, match="`validation` must be left out for a `Corpus`"
    ):
        TranslationData(Corpus(train=words(5)), Letters(), validation=1)


def test_too_long_pairs_are_left_out_counted_and_reported(caplog):
    train = [("a" * 9, "b" * 9), ("a" * 10, "b"), ("a", "b" * 10), ("c", "d")]
    corpus = Corpus(train=train, validation=[("a" * 99, "b"), ("e", "f")])
    with caplog.at_level(logging.WARNING):
        data = TranslationData(corpus, Letters(), max_length=10)
    assert data.too_long == {"train": 2, "validation": 1}
    assert sorted(rows(epoch(data.train))) == [train[0], train[3]]
    assert caplog.messages == [
        "Left out 3 of 6 pairs with more than `max_length`=10 positions."
    ]
    with pytest.raises(ValueError, match="Received: 2, with all 2 pairs longer"):
        TranslationData(train[1:3], Letters(), max_length=2)


def test_nothing_is_reported_where_nothing_is_left_out(caplog):
    TranslationData(words(5), Letters())
    assert caplog.messages == []


def test_target_tokenizer_and_ids():
    class Shifted(Letters):
        def tokenize(self, texts):
            return [[i + 100 for i in ids] for ids in super().tokenize(texts)]

    data = TranslationData(
        [("a", "b")], Letters(), target_tokenizer=Shifted(), end_id=90, start_id=91
    )
    ((source, target, labels),) = epoch(data.train)
    assert (source.tolist(), target.tolist(), labels.tolist()) == (
        [[4, 90]],
        [[91, 105]],
        [[105, 90]],
    )


@pytest.mark.parametrize(
    ("letter", "kind"), [("]", "pad"), ("^", "end"), ("_", "start")]
)
def test_special_ids_in_text_are_refused(letter, kind):
    with pytest.raises(
        ValueError, match=rf"`tokenizer` must keep the {kind} id \d for"
    ):
        TranslationData([("ab" + letter, "c")], Letters())
    with pytest.raises(
        ValueError, match=rf"`target_tokenizer` must keep the {kind} id"
    ):
        TranslationData([("a", letter)], Letters(), target_tokenizer=Letters())


@pytest.mark.parametrize("ids", [(0, 2), (1, 0), (3, 3), (-1, 2), (1.0, 2)])
def test_special_ids_are_checked(ids):
    with pytest.raises(
        ValueError, match="`end_id` and `start_id` must be two different"
    ):
        TranslationData(words(3), Letters(), end_id=ids[0], start_id=ids[1])


@pytest.fixture(scope="module")
def toy():
    return corpora.toy(200, validation=20, test=20)


@pytest.mark.parametrize("library", [keras_hub, keras_nlp])
def test_tokenizers_of_both_names_of_the_library(toy, library):
    proto = train_tokenizer(toy.train, 350).proto
    tokenizer = library.tokenizers.SentencePieceTokenizer(proto=proto)
    data = TranslationData(toy, tokenizer, shuffle=False)
    source, *_ = epoch(data.train)[0]
    texts = {
        tokenizer.detokenize([[int(i) for i in row if i > 3]])[0] for row in source
    }
    assert texts <= {pair[0] for pair in toy.train}
    assert len(texts) > 1


def test_seed_set_after_the_tokenizer_was_made(toy):
    tokenizer = train_tokenizer(toy.train, 350)
    before = epoch(TranslationData(toy, tokenizer).train)
    keras.utils.set_random_seed(1)
    assert same(epoch(TranslationData(toy, tokenizer).train), before)


def test_tokenizer_that_has_lost_its_model_puts_it_back():
    class NotFoundError(Exception):
        pass

    class Lost(Letters):
        proto = None

        def set_proto(self, proto):
            self.there = True

        def tokenize(self, texts):
            if not hasattr(self, "there"):
                raise NotFoundError("Resource does not exist")
            return super().tokenize(texts)

    assert len(rows(epoch(TranslationData(words(5), Lost()).train))) == 5


def test_errors_of_the_tokenizer_are_kept():
    class Broken:
        def tokenize(self, texts):
            raise LookupError("no such piece")

    with pytest.raises(LookupError, match="no such piece"):
        TranslationData(words(5), Broken())


def test_byte_pair_tokenizer(toy):
    texts = [text for pair in toy.train + toy.validation for text in pair]
    pieces = sorted({letter for c in set("".join(texts)) for letter in byte_letters(c)})
    tokenizer = keras_hub.tokenizers.BytePairTokenizer(
        vocabulary={piece: i + 3 for i, piece in enumerate(["do", *pieces])},
        merges=["d o"],
    )
    data = TranslationData(toy, tokenizer, shuffle=False)
    source, *_ = epoch(data.train)[0]
    lines = [
        tokenizer.detokenize([[int(i) for i in row if i > 2]])[0] for row in source
    ]
    assert set(lines) <= {pair[0] for pair in toy.train}


def byte_letters(character):
    """The letters that stand for the bytes of a character in GPT-2's vocabulary."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = [byte for byte in range(256) if byte not in kept]
    return [
        chr(byte if byte in kept else 256 + other.index(byte))
        for byte in character.encode()
    ]


def test_tokenizers_that_truncate_or_add_ids_are_refused(toy):
    proto = train_tokenizer(toy.train, 350).proto
    make = keras_hub.tokenizers.SentencePieceTokenizer
    with pytest.raises(
        ValueError, match=r"`tokenizer` must not pad .*sequence_length=8"
    ):
        TranslationData(toy, make(proto=proto, sequence_length=8))
    with pytest.raises(ValueError, match=r"must not add start or end.*: add_eos=True"):
        TranslationData(toy, make(proto=proto, add_eos=True))
    with pytest.raises(ValueError, match="`tokenizer` must give integer ids"):
        TranslationData(toy, make(proto=proto, dtype="string"))
    with pytest.raises(ValueError, match=r"holds the special ids .* Received: 350 ids"):
        TranslationData(toy, make(proto=proto), end_id=350)
    with pytest.raises(TypeError, match="`target_tokenizer` must have a method"):
        TranslationData(toy, Letters(), target_tokenizer=str.split)


@pytest.mark.parametrize(
    ("option", "value", "least"),
    [
        ("max_length", 1, "2"),
        ("max_shapes", 0, "1"),
        ("tokens_per_batch", 255, "256 .twice `max_length`."),
        ("tokens_per_batch", 4096.0, "256"),
        ("rows_multiple_of", 0, "1"),
        ("rows_multiple_of", True, "1"),
        ("seed", None, "0"),
        ("seed", -1, "0"),
    ],
)
def test_sizes_are_checked(option, value, least):
    with pytest.raises(ValueError, match=rf"`{option}` must be an integer .* {least}"):
        TranslationData(words(3), Letters(), **{option: value})


def test_a_budget_too_small_for_a_multiple_of_rows_is_refused():
    with pytest.raises(ValueError, match=r"2048 .*`rows_multiple_of`=8 rows.*2000"):
        TranslationData(words(3), Letters(), tokens_per_batch=2000, rows_multiple_of=8)


def test_model_fit():
    source = keras.Input((None,), dtype="int32", name="source_ids")
    target = keras.Input((None,), dtype="int32", name="target_ids")
    embed = keras.layers.Embedding(40, 8)
    context = keras.layers.GlobalAveragePooling1D()(embed(source))
    context = keras.layers.Reshape((1, 8))(context)
    logits = keras.layers.Dense(40)(embed(target) + context)
    model = keras.Model({"source_ids": source, "target_ids": target}, logits)
    model.compile(
        optimizer=keras.optimizers.Adam(0.01),
        loss=keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, ignore_class=0
        ),
    )
    data = TranslationData(
        Corpus(train=words(200), validation=words(20, seed=5)),
        Letters(),
        tokens_per_batch=600,
        max_shapes=3,
    )
    history = model.fit(
        data.train,
        validation_data=data.validation,
        epochs=3,
        shuffle=False,
        verbose=0,
    ).history
    assert history["loss"][-1] < history["loss"][0]
    assert np.isfinite(history["val_loss"]).all()
    assert data.epoch == 3


def position_data(**options):
    return TranslationData(words(300), Letters(), tokens_per_batch=600, **options)


@pytest.mark.parametrize("shuffle", [True, False])
def test_batch_can_be_set_to_resume_within_an_epoch(shuffle):
    whole = position_data(shuffle=shuffle)
    number = int(whole.train.cardinality())
    stream = [batch for _ in range(4) for batch in epoch(whole.train)]
    resumed = position_data(shuffle=shuffle)
    resumed.epoch, resumed.batch = 1, 3
    for start in (number + 3, 2 * number + 3):
        assert int(resumed.train.cardinality()) == number
        assert same(epoch(resumed.train), stream[start : start + number])
    assert (resumed.epoch, resumed.batch) == (3, 3)
    looked = epoch(resumed.train.take(2))
    assert same(looked, stream[3 * number + 3 : 3 * number + 5])
    assert (resumed.epoch, resumed.batch) == (3, 3)


def test_endless_data_give_one_epoch_after_the_other():
    whole, endless = position_data(), position_data()
    stream = [batch for _ in range(3) for batch in epoch(whole.train)]
    endless.batch = 2
    number = len(stream) // 3
    taken = endless.train.repeat().take(2 * number)
    assert same(epoch(taken), stream[2 : 2 + 2 * number])


@pytest.mark.parametrize("value", [-1, 1.0, True, 10_000])
def test_batch_is_checked(value):
    data = position_data()
    number = int(data.train.cardinality())
    with pytest.raises(
        ValueError, match=rf"`batch` must be .*\[0, {number}\).*{value}"
    ):
        data.batch = value
    assert data.batch == 0
