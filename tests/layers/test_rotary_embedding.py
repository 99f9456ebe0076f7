"""Rotary positions against complex numbers, and other libraries' code."""

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keras import ops

from keras_transformer import MultiHeadAttention, RotaryEmbedding
from tests.backends import array_of, assert_close, compiled
from tests.layers.check_layer import check_layer

RNG = np.random.default_rng(3)
X = RNG.normal(size=(2, 5, 3, 8)).astype("float32")
OPTIONS = [
    {},
    {"max_wavelength": 50.0, "scaling_factor": 4.0},
    {"interleaved": True},
    {"rotary_dim": 6, "interleaved": True},
    {"rotary_dim": 4},
]


def turned(x, positions, dim=None, base=10000.0, factor=1.0, interleaved=False):
    """Pairs as complex numbers; positions are (batch or 1, length)."""
    dim = dim or x.shape[-1]
    first, second = np.arange(dim // 2), np.arange(dim // 2, dim)
    if interleaved:
        first, second = np.arange(0, dim, 2), np.arange(1, dim, 2)
    rates = np.array([base ** (-2 * i / dim) / factor for i in range(dim // 2)])
    turn = np.exp(1j * positions[:, :, None, None] * rates)
    z = (x[..., first].astype("float64") + 1j * x[..., second]) * turn
    y = x.astype("float64").copy()
    y[..., first], y[..., second] = z.real, z.imag
    return y


def oracle_of(options, x, positions):
    names = {"max_wavelength": "base", "scaling_factor": "factor", "rotary_dim": "dim"}
    given_names = {names.get(name, name): value for name, value in options.items()}
    return turned(x, np.asarray(positions, "float64"), **given_names)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_formula(options):
    layer = RotaryEmbedding(**options)
    assert_close(layer(X), oracle_of(options, X, np.arange(5)[None]))
    assert_close(layer.rotate(X, 7), oracle_of(options, X, 7 + np.arange(5)[None]))
    positions = np.array([[3, 1, 4, 1, 5], [0, 1, 0, 1, 9]], "int32")
    expected = oracle_of(options, X, positions)
    assert_close(layer.rotate_at(ops.convert_to_tensor(X), positions), expected)
    assert_close(layer(X, positions=positions), expected)


def test_contract(tmp_path):
    options = {
        "max_wavelength": 100.0, "scaling_factor": 2.0, "rotary_dim": 6,
        "interleaved": True,
    }  # fmt: skip
    check_layer(RotaryEmbedding, options, (X[:, :, :2],), parameters=0, path=tmp_path)


def test_an_offset_is_a_slice_and_positions_are_rows():
    layer = RotaryEmbedding()
    x = np.repeat(X[:, :1], 40, axis=1)
    whole = array_of(layer(x))
    rows = compiled(lambda x, i: layer(x, start_index=i))
    for start in (0, 6, ops.convert_to_tensor(35)):
        expected = whole[:, int(start) : int(start) + 5]
        assert_close(layer(x[:, :5], start_index=start), expected)
        assert_close(rows(x[:, :5], ops.convert_to_tensor(start)), expected)
    positions = RNG.integers(0, 40, (2, 5)).astype("int64")
    expected = np.stack([row[at] for row, at in zip(whole, positions, strict=True)])
    assert_close(layer(x[:, :5], positions=positions), expected)


@given(
    near=st.integers(0, 40), far=st.integers(0, 40), shift=st.integers(0, 400),
    seed=st.integers(0, 99), options=st.sampled_from(OPTIONS),
)  # fmt: skip
def test_products_depend_on_the_distance_alone_and_norms_stay(
    near, far, shift, seed, options
):
    layer = RotaryEmbedding(**options)
    rng = np.random.default_rng(seed)
    query, key = rng.normal(size=(2, 1, 1, 2, 8)).astype("float32")

    def product(at, other):
        turned_query = array_of(layer.rotate(ops.convert_to_tensor(query), at))
        turned_key = array_of(layer.rotate(ops.convert_to_tensor(key), other))
        norms = np.linalg.norm(turned_query, axis=-1)
        assert_close(norms, np.linalg.norm(query, axis=-1))
        return (turned_query * turned_key).sum(-1)

    moved = product(near + shift, far + shift)
    assert_close(moved, product(near, far), atol=1e-3)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_positions_are_exact_in_half_precision(dtype):
    """4097 is no number of bfloat16, and 2049 none of float16."""
    layer = RotaryEmbedding(dtype=f"mixed_{dtype}")
    for start in (2049, 4096, 4097):
        half = layer(X, start_index=start)
        assert keras.backend.standardize_dtype(half.dtype) == dtype
        exact = array_of(ops.cast(X, dtype))
        expected = turned(exact, start + np.arange(5)[None])
        unit = {"float16": 2**-10, "bfloat16": 2**-7}[dtype]
        assert_close(half, expected, atol=1e-3, rtol=unit)


@pytest.mark.parametrize("factor", [1.0, 4.0])
def test_same_as_llama(factor):
    torch = pytest.importorskip("torch")
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    kind = {"rope_type": "linear", "factor": factor}
    kind = {"rope_type": "default"} if factor == 1.0 else kind
    config = llama.LlamaConfig(
        hidden_size=24, num_attention_heads=3, num_key_value_heads=3,
        rope_parameters={"rope_theta": 500.0, **kind},
    )  # fmt: skip
    if not hasattr(config, "rope_parameters"):
        pytest.skip("written for transformers 5")
    positions = np.array([[0, 1, 2, 3, 4], [9, 700, 2, 0, 31]])
    x = torch.tensor(X, device="cpu")
    theirs = llama.LlamaRotaryEmbedding(config).to("cpu")
    cos, sin = theirs(x, torch.tensor(positions, device="cpu"))
    expected, _ = llama.apply_rotary_pos_emb(x, x, cos, sin, unsqueeze_dim=2)
    layer = RotaryEmbedding(max_wavelength=500.0, scaling_factor=factor)
    found = layer(X, positions=positions.astype("int32"))
    assert_close(found, expected.detach().cpu().numpy(), atol=1e-4)


def test_interleaved_is_that_of_gpt_j():
    torch = pytest.importorskip("torch")
    gptj = pytest.importorskip("transformers.models.gptj.modeling_gptj")
    table = gptj.create_sinusoidal_positions(60, 6)[None, 30:35]
    sin, cos = table[..., :3], table[..., 3:]
    x = torch.tensor(X, device="cpu")
    expected = gptj.apply_rotary_pos_emb(x[..., :6], sin, cos).cpu().numpy()
    layer = RotaryEmbedding(rotary_dim=6, interleaved=True)
    found = array_of(layer(X, start_index=30))
    assert_close(found[..., :6], expected, atol=2e-5)
    np.testing.assert_array_equal(found[..., 6:], X[..., 6:])


@pytest.mark.parametrize("start", [0, 30])
def test_same_as_keras_hub(start):
    keras_hub = pytest.importorskip("keras_hub")
    options = {"max_wavelength": 300.0, "scaling_factor": 2.0}
    theirs = keras_hub.layers.RotaryEmbedding(**options)
    ours = RotaryEmbedding(**options)
    expected = theirs(X, start_index=start)
    assert_close(ours(X, start_index=start), expected, atol=2e-5)


def test_a_larger_base_turns_the_slowest_pair_slower_by_the_factor():
    """What the docstring says of NTK-aware scaling."""
    base, factor, dim = 10000.0, 8.0, 8
    x = np.zeros((1, 1, 1, dim), "float32")
    x[..., : dim // 2] = 1.0

    def angles(**options):
        y = array_of(RotaryEmbedding(**options)(x, start_index=1))[0, 0, 0]
        return np.arctan2(y[dim // 2 :], y[: dim // 2])

    plain = angles(max_wavelength=base)
    found = angles(max_wavelength=base * factor ** (dim / (dim - 2)))
    np.testing.assert_allclose(found[[0, -1]], [plain[0], plain[-1] / factor], 1e-4)
    interpolated = angles(max_wavelength=base, scaling_factor=factor)
    np.testing.assert_allclose(interpolated, plain / factor, rtol=1e-4)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"max_wavelength": 0}, r"`max_wavelength` must be .* above 0.*: 0"),
        ({"scaling_factor": -1.0}, r"`scaling_factor` must be .* above 0.*: -1"),
        ({"rotary_dim": 5}, r"`rotary_dim` must be even.*: 5"),
        ({"rotary_dim": 0}, r"`rotary_dim` must be an integer of at least 1.*: 0"),
        ({"rotary_dim": 10}, r"`rotary_dim` must not exceed .* 8\..*: 10"),
    ],
)
def test_bad_options(options, error):
    with pytest.raises(ValueError, match=error):
        RotaryEmbedding(**options)(X)


def test_bad_inputs():
    layer = RotaryEmbedding()
    with pytest.raises(ValueError, match=r"`head_dim` must be even.*: 7"):
        layer(X[..., :7])
    attention = MultiHeadAttention(2, 7, position=RotaryEmbedding())
    with pytest.raises(ValueError, match=r"`head_dim` must be even.*: 7"):
        attention.build((None, None, 14), (None, None, 14))
    with pytest.raises(ValueError, match=r"`inputs` must have shape .*heads.*2, 5, 3"):
        RotaryEmbedding()(X[..., 0])
    layer(X)
    with pytest.raises(ValueError, match=r"`inputs` must be floating point"):
        layer(X.astype("int32"))
    with pytest.raises(ValueError, match=r"`start_index` and `positions`.*start_in.*3"):
        layer(X, start_index=3, positions=np.zeros((2, 5), "int32"))
    for wrong in (np.zeros((2, 4), "int32"), np.zeros((3, 5), "int32")):
        with pytest.raises(ValueError, match=r"`positions` must have .*\(2, 5\)"):
            layer(X, positions=wrong)
    with pytest.raises(ValueError, match=r"`positions` must be integers.*float32"):
        layer(X, positions=np.zeros((2, 5), "float32"))
