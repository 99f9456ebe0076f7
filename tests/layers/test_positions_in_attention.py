"""The seam for positions inside attention, with layers of a user's own."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import (
    DecoderBlock,
    EncoderBlock,
    MultiHeadAttention,
    Transformer,
)
from tests.attention.formulas import attention
from tests.backends import array_of, assert_close, randomize
from tests.layers.positions import Distance, Ramp, Rotation, turned
from tests.models.small import REAL, SOURCE, TARGET, inputs_of, small_transformer

RNG = np.random.default_rng(11)
X = RNG.normal(size=(2, 5, 8)).astype("float32")
MEMORY = RNG.normal(size=(2, 4, 8)).astype("float32")
POSITIONS = {"rotate": Rotation(0.4), "bias": Distance(0.7)}
each_position = pytest.mark.parametrize("name", POSITIONS)


def heads_of(layer, dense):
    x = np.einsum("btd,dhe->bthe", X, array_of(dense.kernel))
    return x + array_of(dense.bias)


@each_position
def test_formula(name):
    layer = MultiHeadAttention(2, 4, position=POSITIONS[name])
    layer.build(X.shape, X.shape)
    randomize(layer)
    parts = layer.query_dense, layer.key_dense, layer.value_dense
    query, key, value = (heads_of(layer, dense) for dense in parts)
    bias = 0.0
    if name == "rotate":
        query, key = turned(query, 0.4), turned(key, 0.4)
    else:
        place = np.arange(5)
        bias = -0.7 * np.abs(place[:, None] - place)
    _, expected = attention(query, key, value, bias=bias)
    _, scores = layer(X, X, return_attention_scores=True)
    assert_close(scores, expected)


@each_position
def test_order_matters_with_positions_only(name):
    order = np.array([3, 0, 4, 1, 2])
    for position, same in ((None, True), (POSITIONS[name], False)):
        block = EncoderBlock(2, 10, position=position)
        difference = array_of(block(X[:, order])) - array_of(block(X))[:, order]
        assert (np.abs(difference).max() < 1e-4) == same


@each_position
@pytest.mark.parametrize("kv_heads", [None, 1])
def test_cached_equals_uncached_in_a_block(name, kv_heads):
    block = DecoderBlock(2, 10, position=POSITIONS[name], num_key_value_heads=kv_heads)
    block.build(X.shape, MEMORY.shape)
    randomize(block)
    assert block.cross_attention.position is None
    expected = block(X, MEMORY)
    for sizes in ([1] * 5, [3, 1, 1]):
        cache, index, outputs = block.start(MEMORY, max_length=5), 0, []
        for size in sizes:
            place = index if size > 1 else ops.convert_to_tensor(index)
            y, cache = block.step(X[:, index : index + size], cache, place)
            outputs.append(array_of(y))
            index += size
        assert_close(np.concatenate(outputs, axis=1), expected, atol=2e-5)
    assert cache["self"]["key"][0].shape == (2, kv_heads or 2, 4, 5)


@pytest.mark.parametrize("position", [*POSITIONS.values(), Ramp(0.2)])
def test_in_a_transformer(position, tmp_path):
    model = small_transformer(position=position, num_layers=1, num_key_value_heads=1)
    expected = array_of(model(inputs_of()))
    plain = small_transformer(position=None, num_layers=1, num_key_value_heads=1)
    for one, other in zip(
        plain.trainable_weights, model.trainable_weights, strict=True
    ):
        one.assign(array_of(other))
    assert np.abs(array_of(plain(inputs_of())) - expected)[REAL].max() > 1e-3
    state, shared = model.start(SOURCE, 3)
    for i in range(3):
        logits, state = model.step(TARGET[:, i], state, i, shared)
        assert_close(array_of(logits)[REAL[:, i]], expected[:, i][REAL[:, i]])
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert type(loaded) is Transformer
    np.testing.assert_array_equal(array_of(loaded(inputs_of())), expected)
    assert type(loaded.options["position"]) in (type(position), dict)


def test_every_block_has_a_position_of_its_own():
    model = small_transformer(position=Rotation(0.4), num_layers=2)
    own = [
        block.self_attention.position
        for block in (*model.parts.encoder_blocks, *model.parts.decoder_blocks)
    ]
    assert len({id(position) for position in own}) == 4
    assert {position.angle for position in own} == {0.4}


def test_config_restores_the_position():
    block = DecoderBlock(2, 10, position=Rotation(0.4))
    back = DecoderBlock.from_config(block.get_config())
    assert type(back.position) is Rotation
    assert back.position.angle == 0.4


@pytest.mark.parametrize("position", ["sideways", 3, keras.layers.Dense])
def test_model_refuses_what_is_no_position(position):
    with pytest.raises(ValueError, match=r"`position` must be .* or a layer.*Received"):
        Transformer(20, num_layers=1, position=position)
