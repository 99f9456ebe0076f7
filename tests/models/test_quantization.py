"""A model in 8 bits: every path the same, near the model that it came from."""

import gc
import inspect

import keras
import numpy as np
import pytest

from keras_transformer import GreedySearch, TokenEmbedding, Translator
from keras_transformer.layers.head_projection import HeadProjection
from tests.backends import array_of, assert_close, compiled, randomize
from tests.layers.positions import Rotation
from tests.models.small import SOURCE, inputs_of, small_transformer
from tests.models.test_transformer_step import TARGET, decode
from tests.translators import sentences, small_model, toy_tokenizer

OPTIONS = [
    {},
    {"normalize_first": True, "num_key_value_heads": 1, "tie_embeddings": "none"},
    {"position": "learned", "max_length": 5, "use_bias": False},
    {"position": Rotation(), "target_vocabulary_size": 12},
]
# Keras 3.12 knows the mode alone.
ASKABLE = inspect.signature(keras.Model.quantize).parameters
# Inputs are rounded: a difference of float32 may move one by 1/127.
TOLERANCE = {"atol": 2e-2, "rtol": 0}


@pytest.fixture(autouse=True, scope="module")
def few_objects_to_collect():
    """Keras collects garbage for each weight that it replaces."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def quantized(mode="int8", config=None, filters=None, **options):
    model = randomize(small_transformer(num_layers=1, **options), scale=0.3)
    given = {"config": config, "filters": filters}
    model.quantize(mode, **{k: v for k, v in given.items() if v is not None})
    return model


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_steps_equal_the_whole_pass_and_are_near_the_float_model(options):
    model = randomize(small_transformer(num_layers=1, **options), scale=0.3)
    whole = array_of(model(inputs_of(SOURCE, TARGET)))
    model.quantize("int8")
    expected = array_of(model(inputs_of(SOURCE, TARGET)))
    assert 0 < np.abs(expected - whole).max() < 0.05 * np.abs(whole).max()
    assert_close(decode(model, TARGET), expected, **TOLERANCE)
    assert_close(model.predict(inputs_of(SOURCE, TARGET), verbose=0), expected)
    step = compiled(model.step)
    assert_close(decode(model, TARGET, step=step), expected, **TOLERANCE)


def test_hypotheses_equal_repeated_sources():
    model = quantized()
    target = np.random.default_rng(1).integers(3, 20, (6, 4)).astype("int32")
    expected = model(inputs_of(np.repeat(SOURCE, 3, axis=0), target))
    assert_close(decode(model, target, rows=3), expected, **TOLERANCE)


def test_kernels_and_tables_are_integers_of_8_bits():
    types = {weight.path: weight.dtype for weight in quantized().weights}
    names = ("/kernel", "/embeddings")
    matrices = [path for path in types if path.endswith(names)]
    assert len(matrices) == 1 + (4 + 2) + (8 + 2)
    assert {types[path] for path in matrices} == {"int8"}


@pytest.mark.parametrize("filters", [None, "query", ["^output", "embedding"]], ids=str)
def test_a_saved_model_is_the_same(tmp_path, filters):
    if filters and "filters" not in ASKABLE:
        pytest.skip("Keras has no filters")
    model = quantized(filters=filters)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert [w.dtype for w in loaded.weights] == [w.dtype for w in model.weights]
    expected = model(inputs_of(SOURCE, TARGET))
    assert_close(loaded(inputs_of(SOURCE, TARGET)), expected)
    if filters is None:
        with pytest.raises(ValueError, match="already quantized"):
            loaded.quantize("int8")


def test_a_configuration_is_saved_too(tmp_path):
    if not hasattr(keras.quantizers, "Int8QuantizationConfig"):
        pytest.skip("Keras has no configuration")
    config = keras.quantizers.Int8QuantizationConfig(activation_quantizer=None)
    model = quantized(None, config)
    expected = model(inputs_of(SOURCE, TARGET))
    assert_close(decode(model, TARGET), expected, atol=2e-5)  # no rounded inputs
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert_close(loaded(inputs_of(SOURCE, TARGET)), expected)


@pytest.mark.parametrize("mode", ["int4", "float8"])
def test_other_modes_are_refused(mode):
    model = small_transformer(num_layers=1)
    with pytest.raises(ValueError, match=f'`mode` must be "int8".*{mode}'):
        model.quantize(mode)
    table = TokenEmbedding(5, 4)
    table.build()
    with pytest.raises(NotImplementedError, match=f'`mode` must be "int8".*{mode}'):
        table.quantize(mode)


def test_half_precision_and_functions_as_filters_are_refused():
    with pytest.raises(ValueError, match="float16"):
        quantized(dtype="mixed_float16")
    if "filters" in ASKABLE:
        for filters in (lambda layer: True, [5]):
            with pytest.raises(TypeError, match="`filters` must be a regular expr"):
                quantized(filters=filters)
        for filters in ("(", "nothing_like_it", []):
            with pytest.raises(ValueError, match="`filters` must"):
                quantized(filters=filters)


def test_bfloat16():
    model = quantized(dtype="mixed_bfloat16")
    expected = model(inputs_of(SOURCE, TARGET))
    assert keras.backend.standardize_dtype(expected.dtype) == "bfloat16"
    assert_close(decode(model, TARGET), expected, atol=0.2)


def test_a_table_is_quantized_once_and_scaled_row_by_row():
    table = TokenEmbedding(5, 4, scale=False)
    table.build()
    rows = np.random.default_rng(0).normal(size=(5, 4)) * [[1], [9], [0.1], [0], [1]]
    table.embeddings.assign(rows)
    table.quantize("int8")
    found = array_of(table(np.arange(5)[None]))[0]
    limits = np.abs(rows).max(axis=1, keepdims=True) / 254 + 1e-6
    assert (np.abs(found - rows) <= limits).all()
    x = np.random.default_rng(1).normal(size=(1, 3, 4)).astype("float32")
    assert_close(table(x, reverse=True), x @ found.T)
    with pytest.raises(ValueError, match="already quantized"):
        table.quantize("int8")


def test_a_projection_is_near_the_float_one():
    layer = HeadProjection("abcd,cde->abe", output_shape=(None, 6), bias_axes="e")
    layer.build((None, None, 4, 5))
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 5)).astype("float32")
    whole = array_of(randomize(layer)(x))
    layer.quantize("int8")
    assert_close(layer(x), whole, atol=0.1, rtol=0)


def test_a_translator_that_has_translated_follows(tmp_path):
    model = randomize(small_model(num_layers=1), scale=0.3)
    options = {"search": GreedySearch(), "max_length": 8}
    translator = Translator(model, toy_tokenizer(), **options)
    lines = sentences(2)
    before = translator.score(lines, lines), translator.n_best(lines)
    model.compile("adam", "sparse_categorical_crossentropy")
    model.quantize("int8")
    fresh = Translator(model, toy_tokenizer(), **options)
    after = translator.score(lines, lines), translator.n_best(lines)
    assert after == (fresh.score(lines, lines), fresh.n_best(lines))
    assert after != before
    translator.save(tmp_path / "small.translator")
    loaded = Translator.load(tmp_path / "small.translator")
    assert loaded(lines) == translator(lines)
    assert loaded.model.optimizer is None
