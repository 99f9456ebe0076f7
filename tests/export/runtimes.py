"""What the tests of other runtimes share: models, and a greedy search in NumPy."""

import numpy as np
from keras import ops

from keras_transformer import GreedySearch, Transformer
from keras_transformer.decoding import SequenceGenerator
from tests.backends import array_of, assert_close, randomize

VOCABULARY_SIZE = 23
MODELS = {
    "paper": {"max_target": 20, "seed": 21},
    "pre-norm, learned, two blocks of cache": {
        "max_target": 52,
        "seed": 9,
        "num_layers": (1, 2),
        "normalize_first": True,
        "position": "learned",
        "max_length": 60,
    },
    "untied, grouped, rms": {
        "max_target": 20,
        "seed": 57,
        "num_layers": (2, 1),
        "tie_embeddings": "none",
        "target_vocabulary_size": 19,
        "num_heads": 4,
        "num_key_value_heads": 2,
        "normalization": "rms",
    },
}
LENGTHS = [3, 18, 1, 7]  # of the sources, their end included


def random_model(*, seed=0, **options):
    size = {"num_layers": 1, "hidden_dim": 8, "num_heads": 2, "intermediate_dim": 12}
    model = Transformer(VOCABULARY_SIZE, dropout=0.1, **{**size, **options})
    return randomize(model, seed)


def random_sources():
    rng = np.random.default_rng(7)
    source_ids = rng.integers(3, VOCABULARY_SIZE, (len(LENGTHS), max(LENGTHS)))
    for row, length in enumerate(LENGTHS):
        source_ids[row, length - 1], source_ids[row, length:] = 1, 0
    return source_ids.astype("int32")


def random_targets(model, length):
    rng = np.random.default_rng(8)
    target_ids = rng.integers(3, model.target_vocabulary_size, (len(LENGTHS), length))
    target_ids[:, 0] = 2
    return target_ids.astype("int32")


def read(encode, step, source_ids, target_ids):
    """Logits after each position of targets, step by step."""
    state, logits = encode({"source_ids": source_ids}), []
    for index in range(target_ids.shape[1]):
        found = step(
            {"token_ids": target_ids[:, index], "index": np.int32(index), **state}
        )
        logits.append(found.pop("logits"))
        state |= {name.removeprefix("new_"): cache for name, cache in found.items()}
    return np.stack(logits, axis=1)


def greedy(encode, step, source_ids, max_length):
    """The ids that `GreedySearch` finds, each source up to a limit of its own."""
    limits = np.minimum(2 * (source_ids != 0).sum(axis=1) + 16, max_length)
    state = encode({"source_ids": source_ids})
    ids = np.zeros((len(source_ids), max_length), "int32")
    ids[:, 0] = 2
    for index in range(max_length - 1):
        found = step({"token_ids": ids[:, index], "index": np.int32(index), **state})
        logits = found.pop("logits")
        state |= {name.removeprefix("new_"): cache for name, cache in found.items()}
        unfinished = (ids != 1).all(axis=1) & (index + 1 < limits)
        logits[:, 0] = -np.inf  # padding is never generated
        ids[:, index + 1] = np.where(unfinished, logits.argmax(axis=1), 0)
    return ids


def assert_starts_alike(model, max_length, source_ids, found):
    """Compare what the encoder gives with `start`, by the documented names."""
    (_, caches), shared = model.start(source_ids, max_length)
    expected = {"source_mask": shared["padding_mask"]}
    for i, cache in enumerate(caches):
        for part in ("key", "value"):
            for j, block in enumerate(cache[part]):
                expected[f"self_{part}_{i}_{j}"] = block
            expected[f"cross_{part}_{i}_0"] = shared["cross"][i][part][0]
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert_close(found[name], tensor, message=name)
        assert found[name].shape == tuple(tensor.shape)


def assert_steps_alike(model, encode, step, source_ids, target_ids):
    """Compare the steps' logits with those of whole targets."""
    expected = model({"source_ids": source_ids, "target_ids": target_ids})
    assert_close(read(encode, step, source_ids, target_ids), expected)


def assert_decodes_alike(model, max_length, encode, step, source_ids):
    """Compare the greedy search's ids, some of which end and some are cut."""
    generator = SequenceGenerator(model, GreedySearch(), max_length)
    result = generator.predict_on_batch(source_ids)
    expected = array_of(ops.convert_to_tensor(result["ids"]))[:, 0]
    np.testing.assert_array_equal(
        greedy(encode, step, source_ids, max_length), expected
    )
    finished = result["finished"][:, 0].tolist()
    assert set(finished) == {False, True}
