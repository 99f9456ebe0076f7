import keras
import numpy as np
import pytest

from keras_transformer import Transformer
from tests.backends import array_of, assert_close, randomize
from tests.models.formulas import transformer
from tests.models.small import REAL, SOURCE, TARGET, inputs_of, small_transformer


@pytest.mark.parametrize("normalize_first", [False, True])
@pytest.mark.parametrize("tie", ["all", "none"])
def test_formula(tie, normalize_first):
    model = small_transformer(
        tie_embeddings=tie, normalize_first=normalize_first, num_layers=(2, 1)
    )
    randomize(model, scale=0.3)
    expected = transformer(model, SOURCE, TARGET)
    found = array_of(model(inputs_of()))
    assert_close(found[REAL], expected[REAL], atol=1e-4)


def test_vocabularies_of_their_own():
    model = small_transformer(target_vocabulary_size=9, num_layers=1)
    target = np.minimum(TARGET, 8)
    expected = transformer(model, SOURCE, target)
    found = array_of(model(inputs_of(SOURCE, target)))
    assert found.shape == (2, 3, 9)
    assert_close(found[REAL], expected[REAL])
    with pytest.raises(ValueError, match=r"`vocabulary_size`=9\).*ids from 0 to 12"):
        model(inputs_of(SOURCE, np.where(TARGET == 7, 12, target)))


def test_encode_is_the_memory():
    model = small_transformer(num_layers=1)
    memory = model.get_layer("encoder_block_0").output
    expected = keras.Model(model.inputs, memory)(inputs_of())
    found = model.encode(SOURCE)
    assert found.shape == (2, 5, 16)
    assert_close(array_of(found)[SOURCE != 0], array_of(expected)[SOURCE != 0])


def test_it_is_a_functional_model_that_shows_its_blocks():
    model = small_transformer(num_layers=2)
    assert set(model.input) == {"source_ids", "target_ids"}
    assert {name: tensor.dtype for name, tensor in model.input.items()} == {
        "source_ids": "int32",
        "target_ids": "int32",
    }
    lines = []
    model.summary(print_fn=lambda line, **_: lines.append(line), line_length=100)
    text = "\n".join(lines)
    for name in ("token_embedding", "encoder_block_1", "decoder_block_1"):
        assert name in text
    assert f"{model.count_params():,}" in text


def test_plot_model(tmp_path):
    pytest.importorskip("pydot")
    import pydot

    try:
        pydot.Dot.create(pydot.Dot())
    except Exception:
        pytest.skip("Graphviz is not installed")
    path = tmp_path / "model.png"
    keras.utils.plot_model(small_transformer(num_layers=1), path, show_shapes=True)
    assert path.stat().st_size > 1000


def test_dropout_of_embeddings_and_blocks():
    model = small_transformer(num_layers=1, dropout=0.4, seed=1)
    expected = array_of(model(inputs_of()))
    assert_close(model(inputs_of(), training=False), expected)
    first = array_of(model(inputs_of(), training=True))
    assert np.abs(first - expected).max() > 0.1
    for side in ("source", "target"):
        assert model.get_layer(f"{side}_dropout").rate == 0.4


def test_config_is_complete_and_restores_the_model(tmp_path):
    options = {
        "target_vocabulary_size": 15, "num_layers": [1, 2], "hidden_dim": 8,
        "num_heads": 4, "intermediate_dim": 12, "dropout": 0.2,
        "attention_dropout": 0.3, "activation": "gelu", "normalize_first": True,
        "normalization": "rms", "layer_norm_epsilon": 1e-3, "use_bias": False,
        "num_key_value_heads": 2, "tie_embeddings": "none", "position": "learned",
        "max_length": 8, "pad_id": 3, "end_id": 4, "start_id": 5, "seed": 6,
        "name": "mine", "dtype": "mixed_bfloat16",
    }  # fmt: skip
    model = Transformer(20, **options)
    config = model.get_config()
    assert set(config) == {"vocabulary_size", *options}
    for name in set(options) - {"dtype"}:
        assert config[name] == options[name], name
    back = Transformer.from_config(config)
    assert back.get_config() == config
    assert [w.path for w in back.weights] == [w.path for w in model.weights]
    assert (back.pad_id, back.end_id, back.start_id) == (3, 4, 5)
    assert (back.vocabulary_size, back.max_length) == (20, 8)
    for layer in back.layers:
        if layer.weights or isinstance(layer, keras.layers.Dropout):
            assert layer.dtype_policy.name == "mixed_bfloat16", layer.name
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.get_config() == config


def test_callable_activation_is_saved(tmp_path):
    model = small_transformer(num_layers=1, activation=keras.activations.silu)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(
        array_of(loaded(inputs_of())), array_of(model(inputs_of()))
    )


def test_options_reach_the_blocks():
    model = small_transformer(
        num_layers=1, attention_dropout=0.25, layer_norm_epsilon=0.01, use_bias=False
    )
    for block in (*model.parts.encoder_blocks, *model.parts.decoder_blocks):
        assert block.attention_dropout == 0.25
        assert block.layer_norm_epsilon == 0.01
        assert block.feed_forward.output_dense.bias is None


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"vocabulary_size": 0}, r"`vocabulary_size` must be an integer.*: 0\."),
        ({"target_vocabulary_size": 0}, r"`target_vocabulary_size` must be.*: 0\."),
        ({"hidden_dim": 0}, r"`hidden_dim` must be an integer.*: 0\."),
        ({"num_layers": 0}, r"`num_layers` must be an integer.*: 0\."),
        ({"num_layers": (1, 2, 3)}, r"`num_layers` must be .*pair.*: \(1, 2, 3\)\."),
        ({"num_layers": (1, 0)}, r"`num_layers` must be an integer.*: 0\."),
        ({"intermediate_dim": -1}, r"`intermediate_dim` must be an.*: -1\."),
        ({"dropout": 1.5}, r"`dropout` must be in \[0, 1\)\. Received: 1\.5\."),
        ({"attention_dropout": -1}, r"`attention_dropout` must be in.*: -1\."),
        ({"normalization": "x"}, r"`normalization` must be one of.*: 'x'\."),
        ({"tie_embeddings": "some"}, r"`tie_embeddings` must be one of.*: 'some'\."),
        (
            {"tie_embeddings": "all", "target_vocabulary_size": 9},
            r"needs one vocabulary.*vocabulary_size=20, target_vocabulary_size=9\.",
        ),
        ({"pad_id": 20}, r"`pad_id` must be an integer from 0 to 19.*: 20\."),
        ({"end_id": -1}, r"`end_id` must be an integer from 0 to 19.*: -1\."),
        (
            {"start_id": 9, "target_vocabulary_size": 9},
            r"`start_id` must be an integer from 0 to 8.*: 9\.",
        ),
        ({"start_id": "2"}, r"`start_id` must be an integer.*: '2'\."),
        ({"start_id": 1}, r"Special ids must differ. Received: .*'start_id': 1"),
        ({"max_length": 4}, r"`max_length`, and nothing else.*max_length=4\."),
        ({"position": "learned"}, r"`max_length`, and nothing else.*max_length=None\."),
        ({"position": "round"}, r"`position` must be .*: 'round'\."),
    ],
)
def test_errors(options, error):
    options = {"num_layers": 1, "hidden_dim": 8, "num_heads": 2, **options}
    size = options.pop("vocabulary_size", 20)
    with pytest.raises(ValueError, match=error):
        Transformer(size, **{"intermediate_dim": 8, **options})
