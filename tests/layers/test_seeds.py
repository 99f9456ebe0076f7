"""Seeds repeat a run, and differ between the parts that they seed."""

import keras
import numpy as np

from keras_transformer import EncoderBlock, Transformer
from tests.backends import array_of

X = np.random.default_rng(0).normal(size=(2, 5, 8)).astype("float32")


def dropout_seeds(layer):
    """The seeds of all dropout inside a layer or model."""
    return [
        inner.seed
        for inner in layer._flatten_layers()
        if isinstance(inner, keras.layers.Dropout)
    ]


def test_the_same_seed_drops_the_same_units():
    keras.utils.set_random_seed(0)
    first, second, other = (EncoderBlock(2, 16, dropout=0.5, seed=s) for s in (7, 7, 8))
    for block in (first, second, other):
        block.build(X.shape)
        block.set_weights(first.get_weights())
    outputs = [array_of(b(X, training=True)) for b in (first, second, other)]
    np.testing.assert_array_equal(outputs[0], outputs[1])
    assert np.abs(outputs[0] - outputs[2]).max() > 0.1


def test_no_two_layers_of_a_block_or_model_share_a_seed():
    block = EncoderBlock(2, 16, dropout=0.5, seed=7)
    block(X)
    model = Transformer(
        9, num_layers=2, hidden_dim=8, num_heads=2, intermediate_dim=8, seed=7
    )
    for layer, least in ((block, 3), (model, 16)):
        seeds = dropout_seeds(layer)
        assert len(seeds) >= least
        assert len(set(seeds)) == len(seeds)


def test_no_two_kernels_of_one_seeded_initializer_are_equal():
    block = EncoderBlock(
        2, 8, kernel_initializer=keras.initializers.GlorotUniform(seed=1)
    )
    block(X)
    attention = block.self_attention
    kernels = [
        array_of(dense.kernel).ravel()
        for dense in (attention.query_dense, attention.key_dense, attention.value_dense)
    ]
    assert np.abs(kernels[0] - kernels[1]).max() > 0.1
    assert np.abs(kernels[1] - kernels[2]).max() > 0.1
