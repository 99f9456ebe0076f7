"""Options that all families of models take."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import (
    Encoder,
    ImageClassifier,
    LanguageModel,
    MaskedLanguageModel,
    MixtureOfExperts,
    RotaryEmbedding,
    TextClassifier,
)
from tests.backends import array_of, assert_close, randomize

IDS = np.array([[5, 6, 7, 8], [9, 4, 0, 0]], "int32")
IMAGES = np.random.default_rng(3).normal(size=(2, 8, 8, 1)).astype("float32")
SIZE = {"num_layers": 2, "hidden_dim": 8, "num_heads": 2, "intermediate_dim": 12}
FAMILIES = {
    "encoder": lambda **options: Encoder(12, **SIZE, **options),
    "language": lambda **options: LanguageModel(12, **SIZE, **options),
    "image": lambda **options: ImageClassifier(
        3, image_size=8, channels=1, patch_size=4, **SIZE, **options
    ),
}
OPTIONS = {
    "experts": {"feed_forward": MixtureOfExperts(2, 6, top_k=1)},
    "rotary": {"position": "rotary"},
    "relative": {"position": "relative"},
    "blockwise": {"attention": "blockwise", "position": "alibi"},
    "depth": {"stochastic_depth": 0.2, "intermediate_dropout": 0.1},
    "gated": {"activation": "swiglu", "normalization": "rms", "use_bias": False},
    "window": {"window": 2, "query_key_norm": True},
}


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_an_option_is_taken_and_kept(family, option):
    model = randomize(FAMILIES[family](**OPTIONS[option]), scale=0.2)
    inputs = IMAGES if family == "image" else IDS
    expected = array_of(model(inputs))
    assert np.isfinite(expected[:, 0]).all()
    again = type(model).from_config(model.get_config())
    again.set_weights(model.get_weights())
    assert_close(again(inputs), expected)
    assert again.get_config() == model.get_config()


def test_the_head_of_a_gated_encoder_has_the_gates_function():
    encoder = Encoder(12, **SIZE, activation="geglu")
    model = MaskedLanguageModel(encoder)
    assert model.get_layer("transform").activation is keras.activations.gelu
    again = type(model).from_config(model.get_config())
    assert again.encoder.options["activation"] == "geglu"


@pytest.mark.parametrize("first", ["encoder", "head"])
def test_an_encoder_in_8_bits_is_saved_with_and_without_its_head(first, tmp_path):
    encoder = randomize(Encoder(12, **{**SIZE, "num_layers": 1}), scale=0.3)
    model = TextClassifier(encoder, 3)
    randomize(model, scale=0.3)
    if first == "encoder":
        encoder.quantize("int8")
    else:
        model.quantize("int8")
    for name, one in (("encoder", encoder), ("head", model)):
        expected = array_of(one(IDS))
        one.save(tmp_path / f"{name}.keras")
        loaded = keras.saving.load_model(tmp_path / f"{name}.keras")
        np.testing.assert_array_equal(array_of(loaded(IDS)), expected)


@pytest.mark.parametrize("wrong", ["none", "all", None])
def test_a_language_models_tying_is_true_or_false(wrong):
    with pytest.raises(ValueError, match=r"`tie_embeddings` must be one of True, F"):
        LanguageModel(12, **SIZE, tie_embeddings=wrong)


def test_an_image_smaller_than_a_patch_is_refused_by_its_size():
    with pytest.raises(ValueError, match="patch_size"):
        ImageClassifier(3, image_size=2, patch_size=4, pooling="mean", **SIZE)


def test_a_class_token_is_real():
    from keras_transformer import ClassToken

    layer = ClassToken()
    x = ops.ones((2, 3, 8))
    mask = ops.convert_to_tensor(np.array([[1, 1, 0], [1, 0, 0]], bool))
    found = array_of(layer.compute_mask(x, mask))
    np.testing.assert_array_equal(found, [[1, 1, 1, 0], [1, 1, 0, 0]])
    assert layer.compute_mask(x) is None


@pytest.mark.parametrize("position", ["rotary", RotaryEmbedding()])
def test_linear_attention_of_a_language_model_is_not_rotated(position):
    options = {"attention": "linear", "attention_dropout": 0.0}
    with pytest.raises(ValueError, match=r"`position` must be .*linear"):
        LanguageModel(12, **SIZE, **options, position=position)
    LanguageModel(12, **SIZE, **options)
