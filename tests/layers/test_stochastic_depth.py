"""Branches that are skipped in training, sample by sample."""

import numpy as np
import pytest
from keras import ops

from keras_transformer import (
    DecoderBlock,
    EncoderBlock,
    StochasticDepth,
    Transformer,
)
from keras_transformer.layers import Residual
from tests.backends import array_of, assert_close, randomize
from tests.layers.check_layer import check_layer
from tests.layers.formulas import layer_norm

RNG = np.random.default_rng(5)
X = RNG.normal(size=(64, 3, 4)).astype("float32")
UPDATE = RNG.normal(size=(64, 3, 4)).astype("float32")


def test_contract(tmp_path):
    options = {"rate": 0.3, "seed": 4}
    check_layer(StochasticDepth, options, (X,), parameters=0, path=tmp_path)


@pytest.mark.parametrize("shape", [(7,), (7, 2), (7, 2, 3, 5)], ids=str)
def test_a_sample_is_skipped_as_a_whole(shape):
    x = RNG.uniform(1, 2, size=shape).astype("float32")
    factors = array_of(StochasticDepth(0.5, seed=3)(x, training=True)) / x
    factors = factors.reshape(7, -1)
    assert_close(factors, np.broadcast_to(factors[:, :1], factors.shape))
    assert set(np.round(factors[:, 0], 4).tolist()) == {0.0, 2.0}


@pytest.mark.parametrize("rate", [0.25, 0.6])
def test_the_share_is_the_rate_and_the_mean_that_of_inference(rate):
    y = array_of(StochasticDepth(rate, seed=2)(np.ones((6000, 1)), training=True))
    assert abs((y == 0).mean() - rate) < 0.025  # four deviations
    assert abs(y.mean() - 1) < 4 * np.sqrt(rate / (1 - rate) / 6000)


def test_half_precision_does_not_round_the_rate():
    layer = StochasticDepth(0.001, seed=1, dtype="mixed_bfloat16")
    y = array_of(layer(np.ones((20000, 1), "float32"), training=True))
    assert 4 <= (y == 0).sum() <= 40  # bfloat16 knows 0 and 1/128


def test_residual_before_the_norm_passes_a_skipped_sample_on_unchanged():
    layer = Residual(stochastic_depth=0.4, normalize_first=True, seed=1)
    y = array_of(layer(X, UPDATE, training=True))
    skipped = (y == X).all(axis=(1, 2))
    assert 10 < skipped.sum() < 45
    assert_close(y[~skipped], (X + UPDATE / 0.6)[~skipped])
    assert_close(layer(X, UPDATE), X + UPDATE)


def test_residual_after_the_norm():
    layer = Residual(stochastic_depth=0.4, seed=1, epsilon=0.1)
    layer.build(X.shape)
    randomize(layer)
    y = array_of(layer(X, UPDATE, training=True))
    expected = [layer_norm(x, layer.norm, 0.1) for x in (X, X + UPDATE / 0.6)]
    skipped = np.isclose(y, expected[0], atol=1e-5).all(axis=(1, 2))
    assert 10 < skipped.sum() < 45
    assert_close(y[~skipped], expected[1][~skipped])
    assert_close(layer(X, UPDATE), layer_norm(X + UPDATE, layer.norm, 0.1))


def test_a_seed_repeats_the_draws_and_branches_draw_their_own():
    def kept(layer):
        return (array_of(layer(X, training=True)) != 0).all(axis=(1, 2))

    draws = [kept(StochasticDepth(0.5, seed=seed)) for seed in (7, 7, 8)]
    assert (draws[0] == draws[1]).all()
    assert (draws[0] != draws[2]).any()
    block = EncoderBlock(2, 8, stochastic_depth=0.5, dropout=0.5, seed=7)
    block.build(X.shape)
    residuals = block.self_attention_residual, block.feed_forward_residual
    seeds = [residual.depth.seed for residual in residuals]
    seeds += [residual.dropout_layer.seed for residual in residuals]
    assert len(set(seeds)) == 4
    assert (kept(residuals[0].depth) != kept(residuals[1].depth)).any()
    layer = StochasticDepth(0.5, seed=7)
    assert (kept(layer) != kept(layer)).any()


@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
def test_a_block_skips_all_its_branches(kind):
    inputs = (X[:4],) if kind is EncoderBlock else (X[:4], UPDATE[:4])
    block = kind(2, 8, stochastic_depth=0.9999, normalize_first=True, seed=1)
    np.testing.assert_array_equal(array_of(block(*inputs, training=True)), X[:4])
    plain = kind(2, 8, normalize_first=True)
    plain.build(*(x.shape for x in inputs))
    plain.set_weights([array_of(w) for w in block.trainable_weights])
    assert_close(block(*inputs), plain(*inputs))


def test_the_rate_grows_with_the_depth():
    model = Transformer(
        9, num_layers=(3, 2), hidden_dim=4, num_heads=2, intermediate_dim=6,
        stochastic_depth=0.3,
    )  # fmt: skip
    stacks = model.parts.encoder_blocks, model.parts.decoder_blocks
    rates = [[block.stochastic_depth for block in stack] for stack in stacks]
    assert_close(np.concatenate(rates), [0.1, 0.2, 0.3, 0.15, 0.3])
    for block in model.parts.decoder_blocks:
        for name in ("self_attention", "cross_attention", "feed_forward"):
            residual = getattr(block, f"{name}_residual")
            assert residual.depth.rate == block.stochastic_depth
    assert model.get_config()["stochastic_depth"] == 0.3


def test_what_is_skipped_may_overflow():
    layer = Residual(stochastic_depth=0.4, normalize_first=True, seed=1)
    y = layer(X, ops.full(X.shape, np.inf), training=True)
    skipped = np.isfinite(array_of(y)).all(axis=(1, 2))
    np.testing.assert_array_equal(array_of(y)[skipped], X[skipped])
    assert 10 < skipped.sum() < 45


@pytest.mark.parametrize("rate", [1, -0.1, None])
def test_errors(rate):
    with pytest.raises(ValueError, match=rf"`rate` must be in \[0, 1\).*: {rate}\."):
        StochasticDepth(rate)
    for make in (
        lambda: Residual(stochastic_depth=rate),
        lambda: EncoderBlock(2, 8, stochastic_depth=rate),
        lambda: Transformer(9, num_layers=4, stochastic_depth=rate),
    ):
        with pytest.raises(
            ValueError, match=rf"`stochastic_depth` must be in \[0, 1\).*: {rate}\."
        ):
            make()
