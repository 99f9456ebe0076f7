"""A `Transformer` with each kind of position: searches, files, precision."""

import gc

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import (
    AlibiBias,
    BeamSearch,
    RelativePositionBias,
    RotaryEmbedding,
    SmoothedCrossEntropy,
    Transformer,
)
from keras_transformer.decoding import SequenceGenerator, SequenceScorer
from tests.backends import BACKEND, array_of, assert_close, compiled, randomize
from tests.models.small import REAL, SOURCE, inputs_of, small_transformer
from tests.models.test_transformer_step import TARGET, decode

NAMES = {
    "rotary": RotaryEmbedding,
    "alibi": AlibiBias,
    "relative": RelativePositionBias,
}
TABLE = 32 * 2  # numbers of a table of the default buckets, for two heads
OWN_TABLES = {"num_buckets": 8, "max_distance": 16, "shared": False}
each_name = pytest.mark.parametrize("name", NAMES)


def random_transformer(**options):
    return randomize(small_transformer(**{"num_layers": 1, **options}), scale=0.3)


def positions_of(blocks):
    return [block.self_attention.position for block in blocks]


def tables_of(model):
    weights = model.trainable_weights
    return [
        weight
        for weight in weights
        if weight.name == "embeddings" and "self_attention" in weight.path
    ]


@each_name
def test_a_name_stands_for_a_layer_in_every_block(name):
    model = small_transformer(position=name)
    parts = model.parts
    assert parts.source.position is parts.target.position is None
    blocks = [*parts.encoder_blocks, *parts.decoder_blocks]
    assert {type(position) for position in positions_of(blocks)} == {NAMES[name]}
    assert all(block.cross_attention.position is None for block in blocks[3:])
    assert model.get_config()["position"] == name
    tables = 2 if name == "relative" else 0
    assert model.count_params() == (
        small_transformer(position=None).count_params() + tables * TABLE
    )


@pytest.mark.parametrize("shared", [True, False])
def test_tables_are_of_a_side_or_of_a_block(shared):
    options = {**OWN_TABLES, "shared": shared}
    model = small_transformer(position=RelativePositionBias(**options))
    sides = model.parts.encoder_blocks, model.parts.decoder_blocks
    encoder, decoder = (positions_of(blocks) for blocks in sides)
    assert {position.bidirectional for position in encoder} == {True}
    assert {position.bidirectional for position in decoder} == {False}
    number = 1 if shared else 3
    assert [len({id(x) for x in own}) for own in (encoder, decoder)] == [number] * 2
    assert len(tables_of(model)) == 2 * number
    plain = small_transformer(position=None).count_params()
    assert model.count_params() == plain + 2 * number * 16


@pytest.mark.parametrize("shared", [True, False])
def test_a_saved_model_has_as_many_tables(shared, tmp_path):
    position = RelativePositionBias(**{**OWN_TABLES, "shared": shared})
    model = random_transformer(position=position, num_layers=2)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert type(loaded) is Transformer
    assert loaded.count_params() == model.count_params()
    assert len(tables_of(loaded)) == len(tables_of(model))
    for one, other in zip(loaded.weights, model.weights, strict=True):
        np.testing.assert_array_equal(array_of(one), array_of(other))
    expected = array_of(model(inputs_of()))
    np.testing.assert_array_equal(array_of(loaded(inputs_of())), expected)
    clone = Transformer.from_config(model.get_config())
    clone.set_weights(model.get_weights())
    np.testing.assert_array_equal(array_of(clone(inputs_of())), expected)


def test_a_layer_beside_the_model_does_not_join_its_blocks(tmp_path):
    """An outer model's file marks the layer as shared; blocks keep copies."""
    position = RelativePositionBias(**OWN_TABLES)
    inner = small_transformer(position=position, num_layers=2, hidden_dim=8)
    inputs = {
        name: keras.Input((None,), dtype="int32", name=name)
        for name in ("source_ids", "target_ids")
    }
    logits = inner(inputs)
    other = small_transformer(position=position, num_layers=2, hidden_dim=8)
    model = keras.Model(inputs, logits + other(inputs))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    blocks = [
        block
        for part in loaded.layers
        if isinstance(part, Transformer)
        for block in (*part.parts.encoder_blocks, *part.parts.decoder_blocks)
    ]
    assert len({id(position) for position in positions_of(blocks)}) == len(blocks) == 8
    assert_close(loaded(inputs_of()), model(inputs_of()), atol=0)


@each_name
@pytest.mark.parametrize("kv_heads", [2, 1])
def test_steps_equal_the_whole_pass(name, kv_heads):
    model = random_transformer(position=name, num_key_value_heads=kv_heads)
    expected = model(inputs_of(SOURCE, TARGET))
    assert_close(decode(model, TARGET), expected, atol=2e-5)
    if kv_heads == 1 and name == "relative":
        step = compiled(model.step)
        assert_close(decode(model, TARGET, step=step), expected, atol=2e-5)


@each_name
def test_hypotheses_equal_repeated_sources(name):
    model = random_transformer(position=name, num_key_value_heads=1)
    target = np.random.default_rng(1).integers(3, 20, (6, 4)).astype("int32")
    expected = model(inputs_of(np.repeat(SOURCE, 3, axis=0), target))
    assert_close(decode(model, target, rows=3), expected, atol=2e-5)


@pytest.mark.parametrize("name", ["rotary", "relative"])
def test_a_beam_search_scores_as_the_whole_pass(name):
    model = random_transformer(position=name)
    search = BeamSearch(num_beams=3, n_best=3, length_penalty=0.0, min_length=4)
    found = SequenceGenerator(model, search, 9).predict_on_batch(SOURCE)
    scorer = SequenceScorer(model)
    for row, source in enumerate(SOURCE):
        ids = found["ids"][row]
        scored = scorer.predict_on_batch(
            {
                "source_ids": np.tile(source, (3, 1)),
                "target_ids": ids[:, :-1],
                "labels": ids[:, 1:],
            }
        )
        assert_close(found["log_probs"][row], scored["log_probs"], atol=1e-4)
        assert len({tuple(line) for line in ids}) == 3


@pytest.fixture
def few_objects_to_collect():
    """Keras collects garbage for each weight that it quantizes."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("few_objects_to_collect")
def test_int8(tmp_path):
    model = random_transformer(position="relative")
    whole = array_of(model(inputs_of(SOURCE, TARGET)))
    model.quantize("int8")
    expected = array_of(model(inputs_of(SOURCE, TARGET)))
    assert 0 < np.abs(expected - whole).max() < 0.05 * np.abs(whole).max()
    assert [table.dtype for table in tables_of(model)] == ["float32"] * 2
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert_close(loaded(inputs_of(SOURCE, TARGET)), expected, atol=0, rtol=0)


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("rotary", "mixed_bfloat16"),
        ("alibi", "mixed_bfloat16"),
        ("relative", "mixed_float16"),
    ],
)
def test_mixed_precision(name, policy):
    exact = random_transformer(position=name)
    model = small_transformer(position=name, num_layers=1, dtype=policy)
    model.set_weights(exact.get_weights())
    blocks = [*model.parts.encoder_blocks, *model.parts.decoder_blocks]
    policies = {position.dtype_policy.name for position in positions_of(blocks)}
    assert policies == {policy}
    expected = array_of(exact(inputs_of()))[REAL]
    found = array_of(model(inputs_of()))[REAL]
    tolerance = {"mixed_float16": 2e-2, "mixed_bfloat16": 2e-1}[policy]
    assert np.abs(found - expected).max() < tolerance * np.abs(expected).max()
    if name == "relative":
        check_training(model)


def check_training(model):
    """A step is finite and moves the tables."""
    before = [array_of(table).copy() for table in tables_of(model)]
    model.compile("sgd", SmoothedCrossEntropy(), jit_compile=BACKEND == "jax")
    model.train_on_batch(inputs_of(SOURCE, TARGET[:, :-1]), TARGET[:, 1:])
    assert all(np.isfinite(array_of(weight)).all() for weight in model.weights)
    for table, old in zip(tables_of(model), before, strict=True):
        assert np.abs(array_of(table) - old).max() > 0


def test_bad_positions():
    names = '"sinusoidal", "learned", "rotary", "alibi", "relative", None or a layer'
    for wrong in ("rope", 3, keras.layers.Dense):
        with pytest.raises(ValueError, match=f"`position` must be {names}. Received"):
            small_transformer(position=wrong)
    with pytest.raises(ValueError, match=r"`head_dim` must be even.*: 5"):
        small_transformer(position="rotary", hidden_dim=10)
    with pytest.raises(ValueError, match=r"`max_length`, and nothing else.*'rotary'"):
        small_transformer(position="rotary", max_length=9)
    narrow = RelativePositionBias(num_buckets=32, max_distance=12)
    with pytest.raises(ValueError, match=r"`max_distance` must be above 16.*: 12"):
        small_transformer(position=narrow)


def test_the_decoder_bias_of_a_late_step_is_that_of_the_distance():
    """Far from the beginning, where all earlier keys but few are in the last bucket."""
    model = small_transformer(position="relative", num_layers=1)
    position = model.parts.decoder_blocks[0].self_attention.position
    bias = array_of(position.bias(1, 300, ops.convert_to_tensor(280)))[0, :, 0]
    table = array_of(position.embeddings)
    np.testing.assert_array_equal(bias[:, 280:], np.repeat(table[:1].T, 20, axis=1))
    np.testing.assert_array_equal(bias[:, 265:281], table[15::-1].T)
    np.testing.assert_array_equal(bias[:, :153], np.repeat(table[31:].T, 153, axis=1))
