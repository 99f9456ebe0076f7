"""Small models whose targets are varied, and some whose targets end."""

import functools

import keras
import numpy as np

from keras_transformer import (
    SmoothedCrossEntropy,
    Transformer,
    corpora,
    train_tokenizer,
)
from keras_transformer.decoding import SequenceGenerator
from tests.backends import BACKEND, array_of, randomize

FIRST = 4  # the first id that is text
LIMIT = 20  # target positions, no more than any source's own limit
SIZE = {"num_layers": 2, "hidden_dim": 16, "num_heads": 4, "intermediate_dim": 24}


@functools.cache
def tokenizers():
    """A tokenizer of 60 pieces, and one of 64 for another target vocabulary."""
    pairs = corpora.toy(200).train
    targets = [target for _, target in pairs]
    return (
        train_tokenizer(pairs, 60, byte_fallback=False),
        train_tokenizer(targets, 64, byte_fallback=False, model_type="unigram"),
    )


def random_model(seed=0, **options):
    """A model with random weights in every layer, whose targets are varied."""
    model = randomize(Transformer(60, **{**SIZE, **options}), seed, scale=0.5)
    parts = model.parts
    # Without these a target repeats one token: embeddings that are large, so that each
    # token follows itself, and biases that are larger than what varies. Padding, which
    # other libraries generate like any token, gets a logit of 0.
    for weight in model.trainable_variables:
        factor = {"embeddings": 0.1, "bias": 0.2, "beta": 0.2}.get(weight.name, 1.0)
        weight.assign(array_of(weight) * factor)
    table = array_of(parts.output_embedding.embeddings)
    parts.output_embedding.embeddings.assign(
        table * (np.arange(len(table)) > 0)[:, None]
    )
    last = parts.decoder_norm or parts.decoder_blocks[-1].feed_forward_residual.norm
    gain = last.gamma if hasattr(last, "gamma") else last.scale
    gain.assign(array_of(gain) * 20.0)
    return model


@functools.cache
def trained_model(**options):
    """A model that has begun to learn to reverse, so that its targets end."""
    model = Transformer(60, **{**SIZE, "hidden_dim": 32, "dropout": 0.0, **options})
    model.compile(
        keras.optimizers.Adam(5e-3), SmoothedCrossEntropy(),
        jit_compile=BACKEND == "jax",
    )  # fmt: skip
    source = random_sources(512, seed=2)
    target = np.zeros_like(source, shape=(len(source), source.shape[1] + 1))
    for row, ids in zip(target, source, strict=True):
        words = ids[: list(ids).index(1)]
        row[: len(words) + 2] = [model.start_id, *words[::-1], model.end_id]
    inputs = {"source_ids": source, "target_ids": target[:, :-1]}
    model.fit(inputs, target[:, 1:], batch_size=64, epochs=12, verbose=0)
    return model


def random_sources(rows=24, vocabulary=60, longest=9, seed=1):
    """Ids (rows, longest + 1) of different lengths, with the end and padding."""
    rng = np.random.default_rng(seed)
    ids = np.zeros((rows, longest + 1), "int32")
    for row in ids:
        length = rng.integers(2, longest + 1)
        row[:length] = rng.integers(FIRST, vocabulary, size=length)
        row[length] = 1
    return ids


def search_ids(model, search, source_ids, max_length=LIMIT):
    """Targets as lists without start and end, and the search's fields as arrays."""
    generator = SequenceGenerator(model, search, max_length)
    found = generator.predict_on_batch(source_ids)
    found = {name: array_of(field) for name, field in found.items()}
    rows = zip(found["ids"][:, 0], found["lengths"][:, 0], strict=True)
    targets = [row[1 : length + 1].tolist() for row, length in rows]
    return [without_end(target, model.end_id) for target in targets], found


def without_end(ids, end_id=1):
    return ids[: ids.index(end_id)] if end_id in ids else ids
