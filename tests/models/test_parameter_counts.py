"""Numbers of parameters equal a formula, and the paper's for its sizes."""

import numpy as np
import pytest

from keras_transformer import (
    Transformer,
    transformer_base,
    transformer_big,
    transformer_tiny,
)
from tests.backends import BACKEND


def formula(
    vocabulary, width, inner, layers, *, target=None, tables=1, heads=1, kv_heads=1,
    bias=1, pre_norm=False, norm_weights=2, learned=0,
):  # fmt: skip
    """Parameters of a Transformer, counted from the paper's equations."""
    encoders, decoders = layers
    target = vocabulary if target is None else target
    shared = width * width // heads * kv_heads  # keys and values
    attention = 2 * (width**2 + width * bias) + 2 * (shared + shared // width * bias)
    network = 2 * width * inner + (width + inner) * bias
    norm = norm_weights * width
    encoder = attention + network + 2 * norm
    decoder = 2 * attention + network + 3 * norm
    ends = 2 * norm if pre_norm else 0
    embeddings = {1: vocabulary, 2: vocabulary + target, 3: vocabulary + 2 * target}
    return (
        embeddings[tables] * width + encoders * encoder + decoders * decoder + ends
        + 2 * learned * width
    )  # fmt: skip


CASES = [
    ({}, {}),
    ({"tie_embeddings": "all"}, {}),
    ({"tie_embeddings": "decoder"}, {"tables": 2}),
    ({"tie_embeddings": "none"}, {"tables": 3}),
    ({"target_vocabulary_size": 13}, {"tables": 2, "target": 13}),
    (
        {"target_vocabulary_size": 13, "tie_embeddings": "none"},
        {"tables": 3, "target": 13},
    ),
    ({"normalize_first": True}, {"pre_norm": True}),
    ({"normalization": "rms"}, {"norm_weights": 1}),
    (
        {"normalize_first": True, "normalization": "rms", "use_bias": False},
        {"pre_norm": True, "norm_weights": 1, "bias": 0},
    ),
    ({"num_key_value_heads": 2}, {"heads": 4, "kv_heads": 2}),
    ({"num_layers": (1, 3)}, {"layers": (1, 3)}),
    ({"position": "learned", "max_length": 6}, {"learned": 6}),
    ({"position": None}, {}),
]


@pytest.mark.parametrize(("options", "counted"), CASES, ids=lambda case: str(case))
def test_formula(options, counted):
    options = {"num_layers": (2, 1), **options}
    model = Transformer(11, hidden_dim=8, num_heads=4, intermediate_dim=20, **options)
    counted = {"layers": (2, 1), **counted}
    assert model.count_params() == formula(11, 8, 20, counted.pop("layers"), **counted)
    assert model.target_vocabulary_size == options.get("target_vocabulary_size", 11)
    assert model.output_shape == (None, None, model.target_vocabulary_size)


def test_table_3_of_the_paper():
    base = formula(37_000, 512, 2048, (6, 6))
    big = formula(37_000, 1024, 4096, (6, 6))
    assert base == pytest.approx(65e6, rel=0.03)
    assert big == pytest.approx(213e6, rel=0.03)


@pytest.mark.parametrize("options", [{}, {"normalize_first": True}], ids=str)
def test_base_and_tiny(options):
    pre_norm = {"pre_norm": bool(options)}
    model = transformer_tiny(50, **options)
    assert model.count_params() == formula(50, 128, 256, (4, 4), **pre_norm)
    assert model.options["dropout"] == 0.3
    if not options:
        model = transformer_base(37_000)
        assert model.count_params() == formula(37_000, 512, 2048, (6, 6))
        assert model.count_params() == pytest.approx(65e6, rel=0.03)
        assert (model.options["num_heads"], model.options["dropout"]) == (8, 0.1)


@pytest.mark.skipif(BACKEND != "tensorflow", reason="once is enough for 0.85 GB")
def test_big():
    model = transformer_big(37_000)
    assert model.count_params() == formula(37_000, 1024, 4096, (6, 6))
    assert model.count_params() == pytest.approx(213e6, rel=0.03)
    assert (model.options["num_heads"], model.options["dropout"]) == (16, 0.3)


def test_a_size_takes_other_options():
    model = transformer_base(
        20, hidden_dim=8, num_heads=2, num_layers=1, intermediate_dim=8, name="mine"
    )
    assert model.name == "mine"
    assert model.count_params() == formula(20, 8, 8, (1, 1))


@pytest.mark.parametrize("tie", ["all", "decoder", "none"])
def test_tied_tables_are_one_variable(tie):
    model = Transformer(
        11, hidden_dim=8, num_heads=2, intermediate_dim=8, num_layers=1,
        tie_embeddings=tie,
    )  # fmt: skip
    parts = model.parts
    tables = parts.source_embedding, parts.target_embedding, parts.output_embedding
    numbers = {"all": 1, "decoder": 2, "none": 3}
    assert len({id(table.embeddings) for table in tables}) == numbers[tie]
    assert (tables[1] is tables[2]) == (tie != "none")
    found = [w for w in model.weights if tuple(w.shape) == (11, 8)]
    assert len(found) == numbers[tie]
    assert np.prod(found[0].shape) == 88
