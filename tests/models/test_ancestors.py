"""The recurrent and the convolutional model: what they compute, and how they step."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import (
    ConvolutionalSeq2Seq,
    RecurrentSeq2Seq,
    SmoothedCrossEntropy,
)
from tests.backends import (
    BACKEND,
    array_of,
    assert_close,
    compiled,
    randomize,
    weight_gradients,
)
from tests.models.ancestors import FORMULAS, KINDS
from tests.models.small import SOURCE, inputs_of

TARGET = np.array([[2, 5, 6, 9], [2, 7, 8, 3]], "int32")
ALL = pytest.mark.parametrize("kind", KINDS)
TWO = pytest.mark.parametrize("kind", ["lstm", "convolutional"])


def steps(model, target, source=SOURCE, hypotheses=1, step=None, parents=None):
    """Logits of all positions, step by step; `parents` reorders the hypotheses."""
    state, shared = model.start(source, target.shape[1], hypotheses=hypotheses)
    outputs = []
    for i in range(target.shape[1]):
        if step is None:
            logits, state = model.step(
                target[:, i], state, i, shared, hypotheses=hypotheses
            )
        else:
            logits, state = step(target[:, i], state, ops.convert_to_tensor(i), shared)
        if parents is not None:
            moved = keras.tree.map_structure(
                lambda part, rows=parents[i]: ops.take(part, rows, axis=0), state[0]
            )
            state = moved, state[1]
        outputs.append(array_of(logits))
    return np.stack(outputs, axis=1)


@ALL
def test_formula(kind):
    model = randomize(KINDS[kind](tie_embeddings="none", num_layers=2), scale=0.3)
    found = array_of(model(inputs_of(SOURCE, TARGET)))
    for row in range(2):
        source = SOURCE[row][SOURCE[row] != 0]
        expected = FORMULAS[kind](model, source, TARGET[row])
        assert_close(found[row], expected, atol=1e-4)


@ALL
def test_steps_equal_the_whole_pass(kind):
    model = randomize(KINDS[kind](target_vocabulary_size=12), scale=0.3)
    expected = model(inputs_of(SOURCE, TARGET))
    assert expected.shape == (2, 4, 12)
    assert_close(steps(model, TARGET), expected, atol=2e-5)
    if BACKEND != "torch":
        step = compiled(model.step)
        assert_close(steps(model, TARGET, step=step), expected, atol=2e-5)


@TWO
def test_hypotheses_that_change_places(kind):
    model = randomize(KINDS[kind](), scale=0.3)
    rng = np.random.default_rng(1)
    target = rng.integers(3, 20, (6, 5)).astype("int32")
    # Each step goes on from hypotheses of the same source, some of them twice.
    parents = rng.integers(0, 3, (5, 6)) + np.repeat([0, 3], 3)
    found = steps(model, target, hypotheses=3, parents=parents)
    lines = target[:, :1]
    for i in range(5):
        whole = array_of(model(inputs_of(np.repeat(SOURCE, 3, axis=0), lines)))
        assert_close(found[:, i], whole[:, -1], atol=2e-5)
        if i < 4:
            lines = np.concatenate([lines[parents[i]], target[:, i + 1 : i + 2]], 1)


@TWO
def test_padding_does_not_matter(kind):
    model = randomize(KINDS[kind](), scale=0.3)
    expected = array_of(model(inputs_of(SOURCE, TARGET)))
    source = np.pad(SOURCE, ((0, 0), (0, 4)))
    found = model(inputs_of(source, np.pad(TARGET, ((0, 0), (0, 3)))))
    assert_close(found[:, :4], expected)
    assert_close(steps(model, TARGET, source), expected, atol=2e-5)
    alone = model(inputs_of(SOURCE[:1, :3], TARGET[:1]))
    assert_close(alone, expected[:1])
    memory = array_of(model.encode(source))[:, :5]
    real = SOURCE != 0
    assert_close(memory[real], array_of(model.encode(SOURCE))[real])


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_padding_anywhere_in_the_source_is_skipped(kind):
    model = randomize(KINDS[kind](), scale=0.3)
    holes = np.array([[0, 3, 0, 4, 5, 0], [6, 7, 0, 8, 9, 2]], "int32")
    expected = model(inputs_of(SOURCE, TARGET))
    assert_close(model(inputs_of(holes, TARGET)), expected)


@TWO
def test_a_source_of_padding_alone_is_finite(kind):
    model = randomize(KINDS[kind](), scale=0.3)
    source = SOURCE * np.array([[1], [0]], "int32")
    expected = array_of(model(inputs_of(SOURCE, TARGET)))
    found = array_of(model(inputs_of(source, TARGET)))
    assert np.isfinite(found).all()
    assert_close(found[0], expected[0])


@TWO
def test_a_position_sees_itself_and_those_before_it(kind):
    model = randomize(KINDS[kind](), scale=0.3)
    expected = array_of(model(inputs_of(SOURCE, TARGET)))
    for place in range(1, 4):
        changed = TARGET.copy()
        changed[:, place] += 1
        found = array_of(model(inputs_of(SOURCE, changed)))
        assert_close(found[:, :place], expected[:, :place])
        # The output at a position is made of its own input too.
        assert np.abs(found - expected)[:, place:].max(axis=(0, 2)).min() > 1e-4


@TWO
def test_the_source_is_read(kind):
    model = randomize(KINDS[kind](), scale=0.3)
    expected = array_of(model(inputs_of(SOURCE, TARGET)))
    for place in range(5):
        changed = SOURCE.copy()
        changed[1, place] += 4
        found = array_of(model(inputs_of(changed, TARGET)))
        assert np.abs(found - expected)[1, 0].max() > 1e-4
        assert_close(found[0], expected[0])


@TWO
def test_gradients_reach_all_weights_and_are_finite(kind):
    model = KINDS[kind]()
    source = SOURCE * np.array([[1], [0]], "int32")
    found = weight_gradients(model, lambda y: ops.mean(y**2), inputs_of(source, TARGET))
    assert len(found) == len(model.trainable_variables)
    for gradient, variable in zip(found, model.trainable_variables, strict=True):
        assert np.isfinite(gradient).all(), variable.path
        assert np.abs(gradient).max() > 0, variable.path


def recurrent_count(vocabulary, width, layers, gates, biases, tables):
    encoders, decoders = layers

    def cell(inputs):
        return gates * (width * (inputs + width) + biases * width)

    encoder = 2 * cell(width) + (encoders - 1) * 2 * cell(2 * width)
    attention = width * width + (2 * width * width + width) + width
    decoder = attention + cell(3 * width) + (decoders - 1) * cell(3 * width)
    states = decoders * (2 if gates == 4 else 1)
    maps = (width * width + width) * states + 4 * width * width + width
    return tables * vocabulary * width + encoder + decoder + maps


@pytest.mark.parametrize("layers", [(1, 1), (2, 3)])
@pytest.mark.parametrize("tie", ["all", "decoder", "none"])
def test_numbers_of_parameters(tie, layers):
    options = {"tie_embeddings": tie, "num_layers": layers, "hidden_dim": 6}
    tables = {"all": 1, "decoder": 2, "none": 3}[tie]
    for kind, gates, biases in (("lstm", 4, 1), ("gru", 3, 2)):
        expected = recurrent_count(20, 6, layers, gates, biases, tables)
        assert KINDS[kind](**options).count_params() == expected
    model = KINDS["convolutional"](**options, kernel_size=5)
    convolution = 5 * 6 * 12 + 12
    blocks = sum(layers) * convolution + layers[1] * 2 * (36 + 6)
    assert model.count_params() == tables * 20 * 6 + blocks
    learned = KINDS["convolutional"](**options, position="learned", max_length=9)
    plain = KINDS["convolutional"](**options)
    assert learned.count_params() - plain.count_params() == 2 * 9 * 6


OPTIONS = {
    "target_vocabulary_size": 15, "num_layers": [1, 2], "hidden_dim": 8,
    "dropout": 0.2, "tie_embeddings": "none", "pad_id": 3, "end_id": 4, "start_id": 5,
    "seed": 6, "name": "mine", "dtype": "mixed_bfloat16",
}  # fmt: skip
MORE = {
    RecurrentSeq2Seq: {"cell": "gru"},
    ConvolutionalSeq2Seq: {"kernel_size": 4, "position": "learned", "max_length": 8},
}


@pytest.mark.parametrize("kind", MORE)
def test_config_is_complete_and_restores_the_model(kind, tmp_path):
    options = {**OPTIONS, **MORE[kind]}
    model = randomize(kind(20, **options))
    config = model.get_config()
    assert set(config) == {"vocabulary_size", *options}
    for name in set(options) - {"dtype"}:
        assert config[name] == options[name], name
    assert (model.pad_id, model.end_id, model.start_id) == (3, 4, 5)
    assert model.max_length == options.get("max_length")
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert type(loaded) is kind
    assert loaded.get_config() == config
    inputs = inputs_of(SOURCE, TARGET)
    np.testing.assert_array_equal(array_of(loaded(inputs)), array_of(model(inputs)))
    for layer in loaded.layers:
        if layer.weights:
            assert layer.dtype_policy.name == "mixed_bfloat16", layer.name


@pytest.mark.parametrize(
    ("kind", "policy"),
    [
        ("lstm", "mixed_float16"),
        ("convolutional", "mixed_float16"),
        ("convolutional", "mixed_bfloat16"),
    ],
)
def test_mixed_precision(kind, policy):
    model = KINDS[kind](dtype=policy, num_layers=1)
    model.compile("sgd", SmoothedCrossEntropy(0.1), jit_compile=BACKEND == "jax")
    inputs, labels = inputs_of(SOURCE, TARGET), np.roll(TARGET, -1, axis=1)
    history = model.fit(inputs, labels, epochs=4, verbose=0).history["loss"]
    assert np.isfinite(history).all()
    assert history[-1] < history[0]
    assert {weight.dtype for weight in model.trainable_weights} == {"float32"}
    whole = model(inputs)
    assert keras.backend.standardize_dtype(whole.dtype) == policy[6:]
    assert_close(steps(model, TARGET), whole, atol=0.05, rtol=0.05)


@TWO
def test_dropout_only_in_training(kind):
    model = KINDS[kind](dropout=0.4, seed=1)
    inputs = inputs_of(SOURCE, TARGET)
    expected = array_of(model(inputs))
    assert_close(model(inputs, training=False), expected)
    assert np.abs(array_of(model(inputs, training=True)) - expected).max() > 0.05
    assert_close(steps(model, TARGET), expected, atol=2e-5)


@pytest.mark.parametrize("kind", ["lstm", "convolutional"])
def test_training_compiled_by_xla(kind):
    if BACKEND == "torch":
        pytest.skip("torch.compile needs a compiler for C++")
    losses = []
    for jit_compile in (True, False):
        keras.utils.set_random_seed(3)
        model = KINDS[kind](num_layers=1)
        model.compile("sgd", SmoothedCrossEntropy(), jit_compile=jit_compile)
        for _ in range(2):
            loss = model.train_on_batch(inputs_of(SOURCE, TARGET), TARGET)
        losses.append(loss)
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


@pytest.mark.parametrize("size", [1, 4])
def test_sizes_of_kernels(size):
    model = randomize(KINDS["convolutional"](kernel_size=size), scale=0.3)
    found = array_of(model(inputs_of(SOURCE, TARGET)))
    assert_close(steps(model, TARGET), found, atol=2e-5)
    expected = FORMULAS["convolutional"](model, SOURCE[1], TARGET[1])
    assert_close(found[1], expected, atol=1e-4)


@TWO
@pytest.mark.parametrize(("at_start", "at_step"), [(2, 3), (2, 1), (1, 2)])
def test_hypotheses_must_stay_as_they_were(kind, at_start, at_step):
    model = KINDS[kind]()
    state, shared = model.start(SOURCE, 6, hypotheses=at_start)
    ids = np.full(2 * at_step, 2, "int32")
    with pytest.raises(ValueError, match=r"`x` must have a row for each .*Received"):
        model.step(ids, state, 0, shared, hypotheses=at_step)
    ids = np.full(2 * at_start, 2, "int32")
    with pytest.raises(ValueError, match=r"`hypotheses` must be as .*Received: \d\."):
        model.step(ids, state, 0, shared, hypotheses=at_step)


@pytest.mark.parametrize(
    ("kind", "options", "error"),
    [
        ("lstm", {"cell": "rnn"}, r"`cell` must be one of 'lstm', 'gru'.*: 'rnn'\."),
        ("lstm", {"hidden_dim": 0}, r"`hidden_dim` must be an integer.*: 0\."),
        ("lstm", {"num_layers": 0}, r"`num_layers` must be an integer.*: 0\."),
        ("gru", {"dropout": 1.0}, r"`dropout` must be in \[0, 1\).*: 1\.0\."),
        ("gru", {"pad_id": 20}, r"`pad_id` must be an integer from 0 to 19.*: 20\."),
        ("gru", {"tie_embeddings": "x"}, r"`tie_embeddings` must be one of.*: 'x'\."),
        ("convolutional", {"kernel_size": 0}, r"`kernel_size` must be an.*: 0\."),
        ("convolutional", {"position": "x"}, r"`position` must be one of.*: 'x'\."),
        ("convolutional", {"max_length": 4}, r"`max_length`, and nothing else.*=4\."),
        ("convolutional", {"start_id": 1}, r"Special ids must differ.*'start_id': 1"),
    ],
)
def test_errors(kind, options, error):
    with pytest.raises(ValueError, match=error):
        KINDS[kind](**options)


def test_more_positions_than_learned():
    model = KINDS["convolutional"](position="learned", max_length=6)
    with pytest.raises(ValueError, match=r"`max_length` must not exceed.*: 7\."):
        model.start(SOURCE, 7)


@TWO
def test_quantization_is_refused(kind):
    with pytest.raises(NotImplementedError, match=r"only a `Transformer` .*Seq2Seq\."):
        KINDS[kind]().quantize("int8")
