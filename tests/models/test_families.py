"""What the models of all families promise alike."""

import gc

import keras
import numpy as np
import pytest

from keras_transformer import (
    Encoder,
    ImageClassifier,
    LanguageModel,
    MaskedLanguageModel,
    SmoothedCrossEntropy,
    TextClassifier,
)
from tests.backends import BACKEND, array_of, assert_close, randomize
from tests.layers.positions import Rotation
from tests.models.small_families import FAMILIES, inputs_of, small_encoder

BLOCKS = {
    "num_layers": 2, "hidden_dim": 8, "num_heads": 4, "intermediate_dim": 12,
    "dropout": 0.2, "attention_dropout": 0.3, "activation": "relu",
    "normalization": "rms", "layer_norm_epsilon": 1e-3, "use_bias": False,
    "num_key_value_heads": 2, "seed": 6, "name": "mine", "dtype": "mixed_bfloat16",
}  # fmt: skip
TEXT = {**BLOCKS, "scale_embeddings": True, "max_length": 9, "position": "learned"}
ENCODER = {
    **TEXT, "normalize_first": True, "normalize_embeddings": False,
    "num_segments": 3, "pad_id": 4,
}  # fmt: skip
LANGUAGE = {
    **TEXT, "normalize_first": False, "tie_embeddings": False, "pad_id": 4, "end_id": 5
}  # fmt: skip
IMAGE = {
    **BLOCKS, "image_size": [4, 8], "channels": 2, "patch_size": 2, "pooling": "mean",
    "position": "sinusoidal", "normalize_first": False,
}  # fmt: skip


def family(name, **options):
    return randomize(FAMILIES[name](**options), scale=0.3)


@pytest.fixture(params=FAMILIES)
def model(request):
    return family(request.param)


def fitted(model):
    """Train a step; the loss before it."""
    inputs = inputs_of(model)
    if len(model.output.shape) == 3 and model.output.shape[-1] == 20:
        loss, labels = SmoothedCrossEntropy(), inputs
    elif len(model.output.shape) == 3:
        loss, labels = "mse", np.random.default_rng(1).normal(size=(3, 5, 16))
    else:
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        labels = np.array([0, 2, 1])
    model.compile(keras.optimizers.SGD(0.05), loss, jit_compile=BACKEND == "jax")
    return model.train_on_batch(inputs, labels)


@pytest.mark.parametrize(
    ("kind", "size", "options"),
    [
        (Encoder, {"vocabulary_size": 20}, ENCODER),
        (LanguageModel, {"vocabulary_size": 20}, LANGUAGE),
        (ImageClassifier, {"num_classes": 3}, IMAGE),
    ],
)
def test_config_is_complete_and_restores_the_model(kind, size, options, tmp_path):
    model = kind(**size, **options)
    config = model.get_config()
    assert set(config) == {*size, *options}
    for name in set(options) - {"dtype"}:
        assert config[name] == options[name], name
    back = kind.from_config(config)
    assert back.get_config() == config
    assert [w.path for w in back.weights] == [w.path for w in model.weights]
    for layer in back.layers:
        if layer.weights or isinstance(layer, keras.layers.Dropout):
            assert layer.dtype_policy.name == "mixed_bfloat16", layer.name
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert type(loaded) is kind
    assert loaded.get_config() == config


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (MaskedLanguageModel, {"activation": "relu", "name": "mine"}),
        (
            TextClassifier,
            {
                "num_classes": 4, "pooling": "mean", "pooler": False,
                "dropout": 0.3, "seed": 2, "name": "mine",
            },
        ),
    ],
)  # fmt: skip
def test_config_of_heads(kind, options):
    encoder = small_encoder(dtype="mixed_float16")
    model = kind(encoder, **options)
    config = model.get_config()
    assert config == {"encoder": encoder.get_config(), **options}
    back = kind.from_config(config)
    assert back.get_config() == config
    assert [w.path for w in back.weights] == [w.path for w in model.weights]
    assert model.encoder is encoder
    assert model.dtype_policy.name == "mixed_float16"


def test_a_saved_model_is_the_same_bit_for_bit(model, tmp_path):
    expected = array_of(model(inputs_of(model)))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(array_of(loaded(inputs_of(model))), expected)


def test_it_is_functional_and_shows_its_blocks(model):
    lines = []
    model.summary(print_fn=lambda line, **_: lines.append(line), line_length=100)
    text = "\n".join(lines)
    assert "coder_block_0" in text
    assert f"{model.count_params():,}" in text
    for symbol in keras.tree.flatten(model.input):
        assert symbol.shape[0] is None
    if len(model.output.shape) == 3:
        assert model.output.shape[:2] == (None, None)


def test_compiled_equals_eager(model):
    inputs = inputs_of(model)
    assert_close(model.predict_on_batch(inputs), model(inputs))


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        *((name, "float32") for name in FAMILIES),
        ("masked", "mixed_float16"),
        ("text", "mixed_bfloat16"),
        ("language", "mixed_float16"),
        ("image", "mixed_bfloat16"),
    ],
)
def test_a_step_of_training(name, policy):
    model = FAMILIES[name](dtype=policy)
    for layer in model.layers:
        if layer.weights:
            assert layer.dtype_policy.name == policy, layer.name
    assert np.isfinite(array_of(model(inputs_of(model)))).all()
    before = [array_of(weight).copy() for weight in model.trainable_weights]
    assert np.isfinite(fitted(model))
    for old, weight in zip(before, model.trainable_weights, strict=True):
        assert np.isfinite(array_of(weight)).all(), weight.path
        # A key's bias moves all scores of a query alike: softmax does not feel it.
        if "key/bias" not in weight.path and policy == "float32":
            assert np.abs(array_of(weight) - old).max() > 0, weight.path


@pytest.fixture
def few_objects_to_collect():
    """Keras collects garbage for each weight that it replaces."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.parametrize("name", ["masked", "language", "image"])
@pytest.mark.usefixtures("few_objects_to_collect")
def test_int8_is_near_the_float_model_and_is_saved(name, tmp_path):
    model = family(name)
    inputs = inputs_of(model)
    whole = array_of(model(inputs))
    model.quantize("int8")
    expected = array_of(model(inputs))
    assert 0 < np.abs(expected - whole).max() < 0.1 * np.abs(whole).max()
    assert any(weight.dtype == "int8" for weight in model.weights)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert_close(loaded(inputs), expected)


@pytest.mark.parametrize("name", ["encoder", "language", "image"])
@pytest.mark.parametrize("seed", [None, 3])
def test_dropout_has_a_seed_for_each_layer(name, seed):
    model = FAMILIES[name](dropout=0.4, seed=seed, num_layers=2)
    still, one = (array_of(model(inputs_of(model), training=t)) for t in (False, True))
    assert np.abs(one - still).max() > 0.05
    again = FAMILIES[name](dropout=0.4, seed=seed, num_layers=2)
    again.set_weights(model.get_weights())
    same = np.array_equal(array_of(again(inputs_of(again), training=True)), one)
    assert same == (seed is not None)


@pytest.mark.tensorflow_only
@pytest.mark.parametrize("name", FAMILIES)
def test_exported_by_keras(name, tmp_path):
    import tensorflow as tf

    model = family(name)
    model.export(tmp_path / "model", verbose=False)
    served = tf.saved_model.load(tmp_path / "model")
    inputs = inputs_of(model)
    assert_close(served.serve(inputs), model(inputs))
    half = keras.tree.map_structure(lambda array: array[:2], inputs)
    assert_close(served.serve(half), model(half))


@pytest.mark.parametrize("kind", [Encoder, LanguageModel, ImageClassifier])
@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"size": 0}, r"`(vocabulary_size|num_classes)` must be an integer.*: 0\."),
        ({"num_layers": 0}, r"`num_layers` must be an integer.*: 0\."),
        ({"hidden_dim": 0}, r"`hidden_dim` must be an integer.*: 0\."),
        ({"num_heads": 0}, r"`num_heads` must be an integer.*: 0\."),
        ({"intermediate_dim": -1}, r"`intermediate_dim` must be an.*: -1\."),
        ({"dropout": 1.5}, r"`dropout` must be in \[0, 1\)\. Received: 1\.5\."),
        ({"attention_dropout": -1}, r"`attention_dropout` must be in.*: -1\."),
        ({"normalization": "x"}, r"`normalization` must be one of.*: 'x'\."),
        ({"layer_norm_epsilon": 0}, r"`layer_norm_epsilon` must be.*: 0\."),
        ({"position": "round"}, r"`position` must be .*: 'round'\."),
        ({"num_heads": 3}, r"`num_heads` must divide .*"),
    ],
)
def test_errors(kind, options, error):
    options = {"hidden_dim": 8, "num_heads": 2, "intermediate_dim": 8, **options}
    size = options.pop("size", 20)
    with pytest.raises(ValueError, match=error):
        kind(size, **{"num_layers": 1, **options})


@pytest.mark.parametrize("kind", [Encoder, LanguageModel, ImageClassifier])
def test_an_option_that_blocks_do_not_know(kind):
    with pytest.raises(TypeError, match=r"no option `cheese`"):
        kind(20, cheese=1)


@pytest.mark.parametrize("name", ["encoder", "language", "image"])
def test_positions_in_attention_are_saved(name, tmp_path):
    model = family(name, position=Rotation(0.25))
    without = family(name, position=None)
    inputs = inputs_of(model)
    expected = array_of(model(inputs))
    assert np.abs(expected - array_of(without(inputs))).max() > 1e-3
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(array_of(loaded(inputs)), expected)


def parameters(width, inner, layers, *, heads=1, kv_heads=1, bias=1, norm=2):
    """Parameters of a stack of encoder blocks, without a last norm."""
    shared = width * width // heads * kv_heads
    attention = 2 * (width**2 + width * bias) + 2 * (shared + shared // width * bias)
    network = 2 * width * inner + (width + inner) * bias
    return layers * (attention + network + 2 * norm * width)


STACK = parameters(16, 24, 1)
COUNTS = [
    ("encoder", {}, (20 + 9) * 16 + 32 + STACK),
    ("encoder", {"num_segments": 2, "position": None}, 22 * 16 + 32 + STACK),
    (
        "encoder",
        {"normalize_first": True, "normalize_embeddings": False},
        29 * 16 + STACK + 32,
    ),
    (
        "encoder",
        {"normalization": "rms", "use_bias": False, "num_key_value_heads": 1},
        29 * 16 + 16 + parameters(16, 24, 1, heads=2, kv_heads=1, bias=0, norm=1),
    ),
    ("masked", {}, 29 * 16 + 32 + STACK + 16 * 17 + 32 + 20),
    ("text", {}, 31 * 16 + 32 + STACK + 16 * 17 + 17 * 3),
    ("text", {"pooler": False}, 31 * 16 + 32 + STACK + 17 * 3),
    ("language", {}, (20 + 12) * 16 + STACK + 32),
    ("language", {"tie_embeddings": False, "num_layers": 2},
     (40 + 12) * 16 + 2 * STACK + 32),
    ("language", {"normalize_first": False, "position": None}, 20 * 16 + STACK),
    # patches of 2 * 2 * 2 values, 6 of them and the class token
    ("image", {}, 9 * 16 + 16 + 7 * 16 + STACK + 32 + 17 * 3),
    ("image", {"pooling": "mean"}, 9 * 16 + 6 * 16 + STACK + 32 + 17 * 3),
    ("image", {"position": "sinusoidal", "normalize_first": False},
     9 * 16 + 16 + STACK + 17 * 3),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "expected"), COUNTS, ids=str)
def test_numbers_of_parameters(name, options, expected):
    assert FAMILIES[name](**options).count_params() == expected
