"""Experts, their router, and the loss that spreads the work."""

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer import DecoderBlock, EncoderBlock, FeedForward, MixtureOfExperts
from tests.attention.formulas import weight
from tests.backends import array_of, assert_close, compiled, randomize
from tests.layers.check_layer import check_layer
from tests.layers.formulas import feed_forward

RNG = np.random.default_rng(17)
X = RNG.normal(size=(2, 5, 8)).astype("float32")
MEMORY = RNG.normal(size=(2, 3, 6)).astype("float32")
PADDING = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], bool)


def mixture(**options):
    layer = MixtureOfExperts(4, 10, **options)
    layer.build(X.shape)
    return randomize(layer)


def routed(layer, x):
    """Probabilities and, per position, the experts chosen, in NumPy."""
    logits = x @ weight(layer.router)
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    probabilities = powers / powers.sum(-1, keepdims=True)
    return probabilities, np.argsort(-probabilities, axis=-1)[..., : layer.top_k]


def formula(layer, x):
    probabilities, chosen = routed(layer, x)
    y = np.zeros(x.shape)
    for place in np.ndindex(x.shape[:2]):
        gates = probabilities[place][chosen[place]]
        gates = gates / gates.sum() if layer.top_k > 1 else gates
        for gate, expert in zip(gates, chosen[place], strict=True):
            y[place] += gate * feed_forward(layer.experts[expert], x[place])
    return y


def balance(layer, x, real):
    probabilities, chosen = (part[real] for part in routed(layer, x))
    counts = np.bincount(chosen.ravel(), minlength=4)
    return 4 * (counts / counts.sum() * probabilities.mean(0)).sum()


def loss_of(layer, *inputs, **options):
    layer(*inputs, training=True, **options)
    (loss,) = layer.losses
    return float(array_of(loss))


def test_contract(tmp_path):
    options = {
        "num_experts": 4, "intermediate_dim": 10, "top_k": 3, "activation": "geglu",
        "dropout": 0.1, "use_bias": False, "balance_weight": 0.2, "seed": 11,
        "kernel_initializer": keras.initializers.RandomNormal(stddev=0.3, seed=3),
        "bias_initializer": keras.initializers.RandomNormal(stddev=0.2),
    }  # fmt: skip
    number = 4 * 240 + 32
    check_layer(MixtureOfExperts, options, (X,), parameters=number, path=tmp_path)


@pytest.mark.parametrize("top_k", [1, 2, 4])
def test_formula(top_k):
    layer = mixture(top_k=top_k)
    assert_close(layer(X), formula(layer, X))
    assert_close(compiled(layer)(X), formula(layer, X))


def test_one_expert_is_a_feed_forward_network():
    layer = MixtureOfExperts(1, 10, top_k=1)
    layer.build(X.shape)
    randomize(layer)
    assert_close(layer(X), feed_forward(layer.experts[0], X))


@settings(max_examples=10)
@given(order=st.permutations(range(5)), extra=st.integers(0, 3))
def test_each_position_stands_for_itself(order, extra):
    layer = mixture()
    found = array_of(layer(X[:, order]))
    assert_close(found, array_of(layer(X))[:, order])
    longer = np.pad(X, ((0, 0), (0, extra), (0, 0)), constant_values=3.0)
    assert_close(array_of(layer(longer))[:, :5], layer(X))


@pytest.mark.parametrize("top_k", [1, 3])
def test_loss(top_k):
    layer = mixture(top_k=top_k, balance_weight=0.5)
    everything = np.ones((2, 5), bool)
    assert np.isclose(loss_of(layer, X), balance(layer, X, everything) / 2)
    expected = balance(layer, X, PADDING) / 2
    assert abs(expected - balance(layer, X, everything) / 2) > 1e-3
    assert np.isclose(loss_of(layer, X, padding_mask=PADDING), expected)
    assert np.isclose(loss_of(layer, X, mask=PADDING), expected)
    assert loss_of(layer, X, mask=~PADDING & PADDING) == 0
    layer(X, training=False)
    assert not layer.losses


def test_loss_is_that_of_another_library():
    torch = pytest.importorskip("torch")
    mixtral = pytest.importorskip("transformers.models.mixtral.modeling_mixtral")
    layer = mixture(top_k=3, balance_weight=1.0)
    logits = torch.tensor((X @ weight(layer.router)).reshape(10, 4), device="cpu")
    for mask in (np.ones((2, 5), bool), PADDING):
        # Theirs does not divide by the number of choices.
        theirs = mixtral.load_balancing_loss_func(
            (logits,), 4, 3, torch.tensor(mask, device="cpu").long()
        )
        found = loss_of(layer, X, padding_mask=mask)
        assert np.isclose(found, float(theirs) / 3, rtol=1e-5)


def test_even_probabilities_cost_one():
    layer = mixture(balance_weight=1.0)
    layer.router.assign(np.zeros((8, 4)))
    assert np.isclose(loss_of(layer, X), 1)
    silent = mixture(balance_weight=0)
    silent(X, training=True)
    assert not silent.losses


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_the_router_is_exact_in_half_precision(policy):
    x = X.astype("float16" if policy[6:] == "float16" else "float32")
    half = mixture(dtype=policy, balance_weight=1.0)
    x = array_of(keras.ops.cast(x, half.compute_dtype))
    # Probabilities that differ by less than half precision can tell.
    base, step = RNG.normal(size=(8, 1)), 1e-4 * RNG.normal(size=(8, 4))
    half.router.assign(base + step)
    whole = mixture(balance_weight=1.0)
    whole.set_weights(half.get_weights())
    assert_close(half(x), whole(x), atol=0.1)
    assert np.isclose(loss_of(half, x), loss_of(whole, x), rtol=1e-6)
    assert keras.backend.standardize_dtype(half.losses[0].dtype) == "float32"


@pytest.mark.parametrize("how", ["padding_mask", "mask"])
@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
def test_a_block_tells_what_is_padding(kind, how):
    inputs = () if kind is EncoderBlock else (MEMORY,)
    block = kind(2, feed_forward=MixtureOfExperts(4, 10), normalize_first=True)
    other = np.where(PADDING[..., None], X, 9.0)
    losses = [loss_of(block, x, *inputs, **{how: PADDING}) for x in (X, other)]
    assert np.isclose(*losses, rtol=1e-6)
    assert not np.isclose(*(loss_of(block, x, *inputs) for x in (X, other)), rtol=1e-4)


def test_a_block_takes_a_copy():
    given_layer = MixtureOfExperts(3, 10, activation="swiglu", dropout=0.2, seed=1)
    one, other = (
        EncoderBlock(2, feed_forward=given_layer, seed=seed, dtype="mixed_bfloat16")
        for seed in (5, 6)
    )
    for block in (one, other):
        block.build(X.shape)
        assert block.feed_forward.activation == "swiglu"
        assert block.feed_forward.dtype_policy.name == "mixed_bfloat16"
        assert block.feed_forward.name == "feed_forward"
    assert not given_layer.built
    assert one.feed_forward.seed != other.feed_forward.seed
    kernels = [block.feed_forward.experts[0].gate.kernel for block in (one, other)]
    assert np.abs(array_of(kernels[0]) - array_of(kernels[1])).max() > 0.1
    seeds = [expert.seed for expert in one.feed_forward.experts]
    assert len({*seeds, one.seed}) == 4
    unseeded = EncoderBlock(2, feed_forward=given_layer)
    assert unseeded.feed_forward.seed == 1


@pytest.mark.parametrize("given", [FeedForward(10), keras.layers.Dense(8)], ids=repr)
def test_any_layer_may_stand_there(given, tmp_path):
    inputs = keras.Input((None, 8))
    outputs = EncoderBlock(2, feed_forward=given, normalize_first=True)(inputs)
    model = keras.Model(inputs, outputs)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert_close(loaded(X), model(X), atol=0)
    block = loaded.layers[-1]
    assert type(block.feed_forward) is type(given)
    again = EncoderBlock.from_config(block.get_config())
    assert again.get_config() == block.get_config()


def test_steps_equal_the_whole_pass():
    block = DecoderBlock(2, feed_forward=MixtureOfExperts(4, 10))
    block.build(X.shape, MEMORY.shape)
    expected = randomize(block)(X, MEMORY)
    cache, outputs = block.start(MEMORY, 5), []
    for i in range(5):
        y, cache = block.step(X[:, i : i + 1], cache, i)
        outputs.append(array_of(y))
    assert_close(np.concatenate(outputs, axis=1), expected, atol=2e-5)


WRONG = [
    (lambda: MixtureOfExperts(0, 10), r"`num_experts` must be an integer.*: 0\."),
    (lambda: MixtureOfExperts(2, 0), r"`intermediate_dim` must be an integer.*: 0\."),
    (lambda: MixtureOfExperts(2, 9, top_k=3), r"`top_k` must be one of 1, 2.*: 3\."),
    (lambda: MixtureOfExperts(2, 9, top_k=1.0), r"`top_k` must be an int.*: 1\.0\."),
    (lambda: MixtureOfExperts(2, 9, dropout=1), r"`dropout` must be in.*: 1\."),
    (
        lambda: MixtureOfExperts(2, 9, balance_weight=-1),
        r"`balance_weight` must be a number of at least 0.*: -1\.",
    ),
    (lambda: EncoderBlock(2), r"`intermediate_dim` must be an integer.*: None\."),
    (
        lambda: EncoderBlock(2, 16, feed_forward=FeedForward(8)),
        r"`intermediate_dim`.* go to the layer .*intermediate_dim=16",
    ),
    (
        lambda: EncoderBlock(2, feed_forward=FeedForward(8), activation="swiglu"),
        r"`activation`.* go to the layer .*activation='swiglu'",
    ),
    (
        lambda: EncoderBlock(2, feed_forward=FeedForward(8), intermediate_dropout=0.1),
        r"`intermediate_dropout` go to the layer .*intermediate_dropout=0\.1",
    ),
    (
        lambda: EncoderBlock(2, feed_forward="mixture"),
        r"`feed_forward` must be None or a layer, not a model.*: 'mixture'\.",
    ),
    (
        lambda: EncoderBlock(2, feed_forward=keras.Sequential([])),
        r"`feed_forward` must be None or a layer, not a model.*Sequential",
    ),
]


@pytest.mark.parametrize(("make", "error"), WRONG)
def test_errors(make, error):
    with pytest.raises(ValueError, match=error):
        make()
