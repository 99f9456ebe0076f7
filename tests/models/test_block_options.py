"""What a Transformer hands on to its blocks besides what it has words for."""

import gc

import keras
import numpy as np
import pytest

from keras_transformer import MixtureOfExperts, SmoothedCrossEntropy, Translator
from keras_transformer.interop.ctranslate2_options import check_options
from tests.backends import BACKEND, array_of, assert_close, randomize
from tests.models.small import SOURCE, inputs_of, small_transformer
from tests.models.test_transformer_step import TARGET, decode
from tests.translators import sentences, small_model, toy_tokenizer

EXPERTS = {"feed_forward": MixtureOfExperts(3, 8, activation="reglu")}
OPTIONS = [
    {"activation": "swiglu", "intermediate_dropout": 0.3, "stochastic_depth": 0.5},
    {**EXPERTS, "stochastic_depth": 0.2, "normalize_first": True},
]
each_option = pytest.mark.parametrize("options", OPTIONS, ids=["gated", "experts"])


@pytest.fixture(autouse=True, scope="module")
def few_objects_to_collect():
    """Keras collects garbage for each weight that it quantizes."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@each_option
def test_every_path_is_the_same(options, tmp_path):
    model = randomize(small_transformer(num_layers=1, **options), scale=0.3)
    expected = array_of(model(inputs_of(SOURCE, TARGET)))
    assert_close(decode(model, TARGET), expected, atol=2e-5)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert_close(loaded(inputs_of(SOURCE, TARGET)), expected, atol=0)
    assert loaded.get_config() == model.get_config()
    for block in loaded.parts.decoder_blocks:
        assert block.stochastic_depth == options["stochastic_depth"]
        assert type(block.feed_forward) is type(
            model.parts.decoder_blocks[0].feed_forward
        )
    model.quantize("int8")
    quantized = array_of(model(inputs_of(SOURCE, TARGET)))
    assert 0 < np.abs(quantized - expected).max() < 0.1 * np.abs(expected).max()
    floats = [w.path for w in model.weights if "kernel" in w.path and w.dtype != "int8"]
    assert not [path for path in floats if path.endswith("/kernel")]
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert_close(loaded(inputs_of(SOURCE, TARGET)), quantized)


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_fit_adds_the_experts_loss_without_padding(policy):
    layer = MixtureOfExperts(3, 8, balance_weight=2.0)
    model = randomize(
        small_transformer(num_layers=1, feed_forward=layer, dtype=policy), scale=0.3
    )
    source = np.pad(SOURCE, ((0, 0), (0, 3)))
    labels = np.roll(TARGET, -1, axis=1)
    data = inputs_of(SOURCE, TARGET), labels
    model(data[0], training=True)
    losses = [float(array_of(loss)) for loss in model.losses]
    assert len(losses) == 2
    assert min(losses) > 1
    model(inputs_of(source, TARGET), training=True)
    padded = [float(array_of(loss)) for loss in model.losses]
    assert_close(padded, losses, atol=1e-5 if policy == "float32" else 2e-2)
    model.compile(
        keras.optimizers.SGD(0.01), SmoothedCrossEntropy(), jit_compile=BACKEND == "jax"
    )
    plain = float(array_of(SmoothedCrossEntropy()(labels, model(data[0]))))
    assert not model.losses
    routers = [block.feed_forward.router for block in model.parts.encoder_blocks]
    before = [array_of(router).copy() for router in routers]
    (fitted,) = model.fit(*data, epochs=1, verbose=0).history["loss"]
    assert np.isclose(
        fitted, plain + sum(losses), rtol=1e-5 if policy == "float32" else 1e-2
    )
    assert np.abs(array_of(routers[0]) - before[0]).max() > 0


@each_option
def test_ctranslate2_refuses_what_it_has_nothing_for(options):
    name = "feed_forward" if "feed_forward" in options else "activation"
    error = rf"`{name}` must be .* for CTranslate2\. Received: .*(swiglu|Mixture)"
    with pytest.raises(ValueError, match=error):
        check_options(small_transformer(num_layers=1, **options))
    dropped = {k: v for k, v in options.items() if k != name}
    check_options(small_transformer(num_layers=1, **dropped))


@pytest.mark.tensorflow_only
def test_the_saved_model_translates_as_the_translator(tmp_path):
    import tensorflow as tf

    layer = MixtureOfExperts(3, 8, activation="swiglu", dropout=0.1)
    model = small_model(num_layers=1, feed_forward=layer, stochastic_depth=0.1)
    translator = Translator(randomize(model, scale=0.3), toy_tokenizer(), max_length=8)
    translator.export(tmp_path / "1", warm_up=[])
    lines = sentences(3)
    loaded = tf.saved_model.load(str(tmp_path / "1"))
    found = loaded.signatures["serving_default"](text=tf.constant(lines))
    best = [hypotheses[0] for hypotheses in translator.n_best(lines)]
    assert [text.decode() for text in found["translation"].numpy()] == [
        hypothesis.text for hypothesis in best
    ]
    np.testing.assert_allclose(
        found["score"], [hypothesis.score for hypothesis in best], rtol=1e-4
    )


@pytest.mark.parametrize("option", ["feed_forwards", "depth"])
def test_an_unknown_option_is_refused(option):
    with pytest.raises(TypeError, match=f"no option `{option}`.*`feed_forward`"):
        small_transformer(num_layers=1, **{option: 1})
