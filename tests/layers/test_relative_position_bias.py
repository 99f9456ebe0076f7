"""Trained biases of T5's ranges of distances."""

import math

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer import EncoderBlock, MultiHeadAttention, RelativePositionBias
from tests.backends import BACKEND, array_of, randomize
from tests.layers.check_layer import check_config, check_layer
from tests.layers.test_contract import ATTENTION, MEMORY, SCORES

RNG = np.random.default_rng(5)
X = RNG.normal(size=(2, 5, 8)).astype("float32")
OPTIONS = {
    "num_buckets": 12,
    "max_distance": 20,
    "bidirectional": False,
    "shared": False,
    "embeddings_initializer": keras.initializers.RandomNormal(stddev=0.3, seed=3),
}
SIZES = [(32, 128, True), (32, 128, False), (8, 20, True), (12, 50, False)]


def built(heads=2, **options):
    layer = RelativePositionBias(**options)
    layer.build((None, None, heads, 4))
    return randomize(layer)


def test_buckets_by_hand():
    """Of 16 a direction: 8 distances, then bounds at 8 * 16^(k / 8), k = 0..7."""
    starts = [*range(8), *(math.ceil(8 * 2 ** (k / 2)) for k in range(8))]
    assert starts[8:] == [8, 12, 16, 23, 32, 46, 64, 91]
    buckets = RelativePositionBias().buckets
    for bucket, start in enumerate(starts):
        assert buckets(np.array([-start, 1 - start]))[0] == bucket
        assert buckets(np.array(start)) == (bucket + 16 if start else 0)
        if start > 1:
            assert buckets(np.array([1 - start, start - 1])).tolist() == [
                bucket - 1, bucket + 15,
            ]  # fmt: skip
    assert buckets(np.array([-128, -1000, 128, 1000])).tolist() == [15, 15, 31, 31]


def test_buckets_of_one_direction_by_hand():
    """Of 32: 16 distances, then bounds at 16 * 8^(k / 16), k = 0..15."""
    layer = RelativePositionBias(bidirectional=False)
    bounds = [math.ceil(16 * 8 ** (k / 16) - 1e-9) for k in range(16)]
    for k, bound in enumerate(bounds):
        assert layer.buckets(np.array([-bound, 1 - bound])).tolist() == [16 + k, 15 + k]
    assert layer.buckets(np.array([0, 1, 500, -15, -999])).tolist() == [0, 0, 0, 15, 31]


@pytest.mark.parametrize(("buckets", "farthest", "bidirectional"), SIZES)
def test_bias_is_looked_up(buckets, farthest, bidirectional):
    layer = built(
        3, num_buckets=buckets, max_distance=farthest, bidirectional=bidirectional
    )
    table = array_of(layer.embeddings)
    assert table.shape == (buckets, 3)
    distance = np.arange(140)[None, :] - np.arange(90, 94)[:, None]
    expected = np.moveaxis(table[layer.buckets(distance)], -1, 0)[None]
    np.testing.assert_array_equal(array_of(layer.bias(4, 140, 90)), expected)
    at = np.arange(140, dtype="int32")[None] + np.array([[0], [5]], "int32")
    found = layer.bias_between(at[:, 90:94], at)
    np.testing.assert_array_equal(array_of(found), np.repeat(expected, 2, axis=0))


@pytest.mark.parametrize(("buckets", "farthest", "bidirectional"), SIZES)
def test_same_as_t5(buckets, farthest, bidirectional):
    torch = pytest.importorskip("torch")
    t5 = pytest.importorskip("transformers.models.t5.modeling_t5")
    config = t5.T5Config(
        relative_attention_num_buckets=buckets,
        relative_attention_max_distance=farthest,
        num_heads=3, d_model=12, d_kv=4, is_decoder=not bidirectional,
    )  # fmt: skip
    theirs = t5.T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    options = {"num_buckets": buckets, "max_distance": farthest}
    ours = built(3, bidirectional=bidirectional, **options)
    with torch.no_grad():
        weight = torch.tensor(array_of(ours.embeddings))
        theirs.relative_attention_bias.weight.copy_(weight)
        expected = theirs.to("cpu").compute_bias(150, 150).cpu().numpy()
    np.testing.assert_array_equal(array_of(ours.bias(150, 150)), expected)
    distances = np.arange(-600, 601)
    bucket = theirs._relative_position_bucket(
        torch.tensor(distances, device="cpu"), bidirectional, buckets, farthest
    )
    np.testing.assert_array_equal(ours.buckets(distances), bucket.cpu().numpy())


@given(
    buckets=st.integers(2, 60), more=st.integers(1, 300), bidirectional=st.booleans()
)
def test_buckets_grow_with_the_distance_and_reach_the_last(
    buckets, more, bidirectional
):
    number = 2 * buckets if bidirectional else buckets
    farthest = buckets // 2 + more
    layer = RelativePositionBias(
        num_buckets=number, max_distance=farthest, bidirectional=bidirectional
    )
    back = layer.buckets(-np.arange(farthest + 5))
    assert back[0] == 0
    assert (np.diff(back) >= 0).all()
    assert (back[farthest:] == buckets - 1).all()
    ahead = layer.buckets(np.arange(1, farthest + 5))
    expected = back[1:] + buckets if bidirectional else np.zeros_like(back[1:])
    np.testing.assert_array_equal(ahead, expected)


def test_contract(tmp_path):
    check_config(RelativePositionBias, OPTIONS)
    position = RelativePositionBias(num_buckets=4, max_distance=2)
    check_layer(
        MultiHeadAttention, {**ATTENTION, "position": position}, (X, MEMORY),
        parameters=192 + 72 + 36 + 84 + 12 + 4 * 4, path=tmp_path, call=SCORES,
    )  # fmt: skip


def test_the_table_is_not_rounded_in_half_precision():
    layer = built(3, dtype="mixed_bfloat16")
    block = EncoderBlock(3, 10, position=layer, dtype="mixed_bfloat16")
    found = {}
    original = layer.bias

    def bias(*arguments):
        found["bias"] = original(*arguments)
        return found["bias"]

    layer.bias = bias
    block(np.zeros((1, 4, 6), "float32"))
    assert keras.backend.standardize_dtype(found["bias"].dtype) == "float32"
    expected = array_of(layer.embeddings)[layer.buckets(np.arange(4))]
    np.testing.assert_array_equal(array_of(found["bias"])[0, :, 0], expected.T)


def stack_of(position):
    inputs = keras.Input((None, 8))
    x = inputs
    for i in range(3):
        x = EncoderBlock(2, 10, position=position, name=f"block_{i}")(x)
    return keras.Model(inputs, x)


def tables_of(model):
    weights = model.trainable_weights
    return [weight for weight in weights if weight.name == "embeddings"]


def test_one_layer_in_several_blocks_is_one_table(tmp_path):
    model = randomize(stack_of(RelativePositionBias(num_buckets=8, max_distance=16)))
    alone = stack_of(None).count_params()
    assert len(tables_of(model)) == 1
    assert model.count_params() == alone + 16
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert len(tables_of(loaded)) == 1
    np.testing.assert_array_equal(array_of(loaded(X)), array_of(model(X)))
    table = tables_of(loaded)[0]
    before = array_of(table).copy()
    loaded.compile("sgd", "mse", jit_compile=BACKEND == "jax")
    loaded.train_on_batch(X, np.zeros_like(X))
    assert np.abs(array_of(table) - before).max() > 0
    positions = [block.self_attention.position for block in loaded.layers[1:]]
    assert len({id(position) for position in positions}) == 1


def test_a_clone_has_a_table_in_each_block():
    """As the docstring says. Weights of one do not fit the other, and Keras says so."""
    model = stack_of(RelativePositionBias(num_buckets=8, max_distance=16))
    clone = keras.models.clone_model(model)
    assert len(tables_of(clone)) == 3
    with pytest.raises(ValueError, match="weight"):
        clone.set_weights(model.get_weights())


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"num_buckets": 0}, r"`num_buckets` must be an integer of at least 1.*: 0"),
        ({"num_buckets": 2}, r"`num_buckets` must be even and at least 4 .*: 2"),
        ({"num_buckets": 9}, r"`num_buckets` must be even and at least 4 .*: 9"),
        (
            {"num_buckets": 1, "bidirectional": False},
            r"`num_buckets` must be at least 2 with bidirectional=False.*: 1",
        ),
        ({"max_distance": 8}, r"`max_distance` must be above 8, .*: 8"),
        (
            {"max_distance": 16, "bidirectional": False},
            r"`max_distance` must be above 16, .*: 16",
        ),
    ],
)
def test_bad_options(options, error):
    with pytest.raises(ValueError, match=error):
        RelativePositionBias(**options)
