import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer import DecoderBlock, EncoderBlock
from tests.backends import array_of, assert_close, randomize
from tests.layers.formulas import decoder_block, encoder_block

RNG = np.random.default_rng(8)
X = RNG.normal(size=(3, 5, 8)).astype("float32")
MEMORY = RNG.normal(size=(3, 4, 6)).astype("float32")
PADDING = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 1, 0, 1, 1]], bool)
MEMORY_PADDING = np.array([[1, 1, 1, 1], [1, 0, 0, 0], [0, 1, 1, 0]], bool)
ALLOWED = RNG.random((3, 5, 5)) > 0.2
ACROSS = RNG.random((3, 5, 4)) > 0.2
CAUSAL = np.tril(np.ones((5, 5), bool))
each_order = pytest.mark.parametrize(
    "options",
    [
        {},
        {"normalize_first": True},
        {"normalization": "rms", "layer_norm_epsilon": 0.1},
        {"normalize_first": True, "normalization": "rms", "use_bias": False},
    ],
    ids=str,
)


def encoder(**options):
    block = EncoderBlock(2, 10, **options)
    block.build(X.shape)
    return randomize(block)


def decoder(**options):
    block = DecoderBlock(2, 10, **options)
    memory = [MEMORY.shape] if options.get("cross_attention", True) else []
    block.build(X.shape, *memory)
    return randomize(block)


@each_order
def test_encoder_formula(options):
    block = encoder(**options)
    mask = PADDING[:, None, None] & ALLOWED[:, None]
    output, scores = block(
        X, padding_mask=PADDING, attention_mask=ALLOWED, return_attention_scores=True
    )
    expected = encoder_block(block, X, mask)
    assert_close(output, expected[0], atol=2e-5)
    assert_close(scores, expected[1])
    plain = block(X, padding_mask=PADDING, attention_mask=ALLOWED)
    assert_close(plain, output)


@each_order
def test_decoder_formula(options):
    block = decoder(**options)
    masks = {
        "padding_mask": PADDING,
        "memory_padding_mask": MEMORY_PADDING,
        "attention_mask": ALLOWED,
        "memory_attention_mask": ACROSS,
    }
    output, own, across = block(X, MEMORY, **masks, return_attention_scores=True)
    expected = decoder_block(
        block, X, MEMORY,
        PADDING[:, None, None] & (ALLOWED & CAUSAL)[:, None],
        MEMORY_PADDING[:, None, None] & ACROSS[:, None],
    )  # fmt: skip
    assert_close(output, expected[0], atol=2e-5)
    assert_close(own, expected[1])
    assert_close(across, expected[2])
    assert_close(block(X, MEMORY, **masks), output)


@pytest.mark.parametrize("causal", [False, True])
def test_decoder_without_memory(causal):
    block = decoder(cross_attention=False)
    assert not hasattr(block, "cross_attention")
    output, scores = block(X, use_causal_mask=causal, return_attention_scores=True)
    mask = CAUSAL if causal else np.ones((5, 5), bool)
    expected = decoder_block(block, X, None, mask, None)
    assert_close(output, expected[0], atol=2e-5)
    assert_close(scores, expected[1])


def test_dropout_is_off_at_inference_and_on_in_training():
    plain, dropped = encoder(), encoder(dropout=0.5, attention_dropout=0.5, seed=1)
    expected = array_of(plain(X))
    assert_close(dropped(X), expected)
    assert_close(dropped(X, training=False), expected)
    first, second = (array_of(dropped(X, training=True)) for _ in range(2))
    assert np.abs(first - expected).max() > 0.1
    assert np.abs(first - second).max() > 0.1


def test_attention_dropout_alone():
    dropped = encoder(attention_dropout=0.5, seed=1)
    trained = array_of(dropped(X, training=True))
    assert np.abs(trained - array_of(dropped(X))).max() > 0.1


def test_norms_are_not_shared():
    block = decoder()
    norms = [
        block.self_attention_residual.norm,
        block.cross_attention_residual.norm,
        block.feed_forward_residual.norm,
    ]
    assert len({id(norm) for norm in norms}) == 3
    assert len(block.trainable_weights) == 8 + 8 + 4 + 6


def test_initial_kernels_differ():
    initializer = keras.initializers.RandomNormal(seed=4)
    block = DecoderBlock(2, 8, kernel_initializer=initializer)
    block.build((None, None, 8), (None, None, 8))
    kernels = [
        array_of(w).ravel() for w in block.trainable_weights if w.name == "kernel"
    ]
    assert len(kernels) == 10
    assert len({tuple(kernel[:8]) for kernel in kernels}) == 10
    again = DecoderBlock(2, 8, kernel_initializer=initializer)
    again.build((None, None, 8), (None, None, 8))
    for one, other in zip(again.weights, block.weights, strict=True):
        if one.name == "kernel":
            np.testing.assert_array_equal(array_of(one), array_of(other))


@given(st.integers(0, 1000))
@settings(max_examples=8)
def test_encoder_without_positions_is_permutation_equivariant(seed):
    order = np.random.default_rng(seed).permutation(5)
    block = encoder()
    expected = array_of(block(X, padding_mask=PADDING))
    moved = array_of(block(X[:, order], padding_mask=PADDING[:, order]))
    real = PADDING[:, order]
    assert_close(moved[real], expected[:, order][real], atol=2e-5)


@given(st.integers(1, 5), st.floats(-50, 50))
@settings(max_examples=8)
def test_what_stands_at_padding_does_not_matter(length, value):
    block = encoder(normalize_first=True)
    padding = np.broadcast_to(np.arange(5) < length, (3, 5))
    changed = np.where(padding[..., None], X, np.float32(value))
    expected = array_of(block(X, padding_mask=padding))[:, :length]
    found = array_of(block(changed, padding_mask=padding))[:, :length]
    assert_close(found, expected, atol=2e-5)


@given(st.integers(1, 4), st.floats(-50, 50))
@settings(max_examples=8)
def test_decoder_sees_nothing_ahead(position, value):
    block = decoder()
    changed = X.copy()
    changed[:, position:] = value
    expected = array_of(block(X, MEMORY))[:, :position]
    assert_close(array_of(block(changed, MEMORY))[:, :position], expected)


def test_decoder_errors_about_memory():
    with pytest.raises(ValueError, match=r"`cross_attention=True` needs `memory`"):
        DecoderBlock(2, 8)(X)
    block = DecoderBlock(2, 8, cross_attention=False)
    error = r"`cross_attention=False` takes no `memory`. Received: memory=\(3, 4, 6\)"
    with pytest.raises(ValueError, match=error):
        block(X, MEMORY)
    block(X)
    with pytest.raises(ValueError, match=r"`batch_size` is needed.*batch_size=None"):
        block.start(max_length=3)
    with pytest.raises(ValueError, match=r"`max_length` must be an integer.*: None"):
        block.start(batch_size=3)
