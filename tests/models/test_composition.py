"""Single layers inside models of a user's own."""

import keras
import numpy as np
import pytest

from keras_transformer import (
    DecoderBlock,
    EncoderBlock,
    LearnedPositionalEncoding,
    MultiHeadAttention,
    PositionalEncoding,
    SmoothedCrossEntropy,
    TokenAccuracy,
    TokenEmbedding,
)
from tests.backends import BACKEND, array_of, assert_close

RNG = np.random.default_rng(31)
FIT = {"verbose": 0, "shuffle": False}


def marked_sequences(number):
    """Ids 3-9 of lengths 4-8, and whether 3 stands before 4 (both stand once)."""
    ids = np.zeros((number, 8), "int32")
    for row in ids:
        length = RNG.integers(4, 9)
        row[:length] = RNG.integers(5, 10, length)
        places = RNG.permutation(length)[:2]
        row[places] = [3, 4]
    labels = (ids == 3).argmax(1) < (ids == 4).argmax(1)
    return ids, labels.astype("float32")


def test_classifier_of_stacked_blocks_converges():
    """Needs attention and positions: the bag of tokens is the same for both labels."""
    ids = keras.Input((None,), dtype="int32")
    x = TokenEmbedding(10, 16, mask_zero=True)(ids)
    x = PositionalEncoding()(x)
    for _ in range(2):
        x = EncoderBlock(2, 32)(x)
    x = keras.layers.GlobalAveragePooling1D()(x)
    model = keras.Model(ids, keras.layers.Dense(1, activation="sigmoid")(x))
    model.compile(
        keras.optimizers.Adam(5e-3), "binary_crossentropy", metrics=["accuracy"],
        jit_compile=BACKEND == "jax",
    )  # fmt: skip
    sequences, labels = marked_sequences(512)
    assert 0.4 < labels.mean() < 0.6
    model.fit(sequences, labels, batch_size=32, epochs=12, **FIT)
    _, accuracy = model.evaluate(*marked_sequences(256), batch_size=256, verbose=0)
    assert accuracy >= 0.97
    ids, _ = marked_sequences(8)
    longer = np.pad(ids, ((0, 0), (0, 3)))
    assert_close(model(longer), model(ids))


@keras.saving.register_keras_serializable(package="tests")
class LanguageModel(keras.Model):
    """A subclass: decoder blocks without cross-attention, tied logits."""

    def __init__(self, vocabulary_size, hidden_dim, num_layers, **kwargs):
        super().__init__(**kwargs)
        self.sizes = vocabulary_size, hidden_dim, num_layers
        self.embedding = TokenEmbedding(vocabulary_size, hidden_dim)
        self.position = LearnedPositionalEncoding(12)
        self.blocks = [
            DecoderBlock(2, 2 * hidden_dim, cross_attention=False)
            for _ in range(num_layers)
        ]

    def build(self, ids_shape):
        self.embedding.build()
        shape = (*ids_shape, self.sizes[1])
        for layer in (self.position, *self.blocks):
            layer.build(shape)

    def call(self, ids):
        x = self.position(self.embedding(ids))
        for block in self.blocks:
            x = block(x, padding_mask=keras.ops.not_equal(ids, 0))
        return self.embedding(x, reverse=True)

    def get_config(self):
        names = "vocabulary_size", "hidden_dim", "num_layers"
        return {**super().get_config(), **dict(zip(names, self.sizes, strict=True))}


def test_subclass_trains_saves_and_is_causal(tmp_path):
    model = LanguageModel(9, 16, 1)
    ids = np.tile(np.array([3, 4, 5, 6, 7, 8]), (8, 2))[:, :9]
    model.compile(
        keras.optimizers.Adam(1e-2), SmoothedCrossEntropy(), metrics=[TokenAccuracy()],
        jit_compile=BACKEND == "jax",
    )  # fmt: skip
    logs = model.fit(ids[:, :-1], ids[:, 1:], epochs=30, **FIT).history
    assert logs["token_accuracy"][-1] == 1.0
    changed = ids.copy()
    changed[:, 5:] = 3
    assert_close(array_of(model(changed))[:, :5], array_of(model(ids))[:, :5])
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert_close(loaded(ids), model(ids), atol=0)


def test_functional_model_of_single_layers(tmp_path):
    query, value = keras.Input((None, 8)), keras.Input((None, 6))
    x, scores = MultiHeadAttention(2, 4, name="attention")(
        query, value, return_attention_scores=True, use_causal_mask=True
    )
    x = DecoderBlock(2, 16)(x, value)
    model = keras.Model([query, value], {"x": x, "scores": scores})
    assert {name: y.shape for name, y in model.output.items()} == {
        "x": (None, None, 8),
        "scores": (None, 2, None, None),
    }
    arrays = [RNG.normal(size=(2, n, d)).astype("float32") for n, d in ((3, 8), (5, 6))]
    found = model(arrays)
    attention = model.get_layer("attention")
    _, expected = attention(*arrays, return_attention_scores=True, use_causal_mask=True)
    assert_close(found["scores"], expected)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    for name in found:
        assert_close(loaded(arrays)[name], found[name], atol=0)


@pytest.mark.parametrize("as_input", [False, True])
def test_masks_as_inputs_of_a_functional_model(as_input):
    x = keras.Input((None, 8))
    mask = keras.Input((None,), dtype="bool")
    block = EncoderBlock(2, 16)
    keyword = {"padding_mask": mask}
    if as_input:
        keyword = {"attention_mask": keras.ops.expand_dims(mask, 1)}
    model = keras.Model([x, mask], block(x, **keyword))
    array = RNG.normal(size=(2, 4, 8)).astype("float32")
    real = np.array([[1, 1, 1, 1], [1, 1, 0, 0]], bool)
    found = array_of(model([array, real]))
    alone = array_of(block(array[1:, :2]))
    assert_close(found[1:, :2], alone)


def test_shared_block_keeps_one_set_of_weights():
    x = keras.Input((None, 8))
    block = EncoderBlock(2, 16)
    model = keras.Model(x, block(block(x)))
    assert len(model.trainable_weights) == len(block.trainable_weights) == 16
