import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.decoding import BeamSearch, GreedySearch, Sampling
from tests.decoding.tables import BACKEND, as_numpy, log_table, table_step

ALL = [GreedySearch(), BeamSearch(num_beams=3, n_best=2), Sampling(seed=1)]
each_search = pytest.mark.parametrize("search", ALL, ids=lambda s: type(s).__name__)
STEP = table_step(log_table({2: {3: 0.7, 4: 0.3}, 3: {1: 0.6, 3: 0.4}, 4: {1: 1}}))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BeamSearch(num_beams=0), r"`num_beams` .* at least 1\. Received: 0\."),
        (lambda: BeamSearch(num_beams=2.0), r"`num_beams` .* integer .* 2\.0\."),
        (lambda: BeamSearch(n_best=0), r"`n_best` .* at least 1\. Received: 0\."),
        (
            lambda: BeamSearch(num_beams=2, n_best=3),
            r"`n_best` must be at most `num_beams`, 2\. Received: 3\.",
        ),
        (
            lambda: BeamSearch(length_penalty=float("nan")),
            r"`length_penalty` must be in \[-8, 8\]\. Received: nan\.",
        ),
        (lambda: BeamSearch(length_penalty=-1000), r"`length_penalty` .* -1000\."),
        (lambda: GreedySearch(banned_tokens=5), r"`banned_tokens` .* list .* 5\."),
        (lambda: GreedySearch(banned_tokens=None), r"`banned_tokens` .* None\."),
        (lambda: Sampling(top_p=None), r"`top_p` must be a number\. .* None\."),
        (lambda: Sampling(top_p=True), r"`top_p` must be a number\. .* True\."),
        (lambda: Sampling(seed=2**70), r"`seed` must be below 2\*\*31\."),
        (lambda: GreedySearch(min_length=-1), r"`min_length` .* at least 0.* -1\."),
        (lambda: GreedySearch(no_repeat_ngram=-1), r"`no_repeat_ngram` .* -1\."),
        (lambda: GreedySearch(no_repeat_ngram=1.5), r"`no_repeat_ngram` .* 1\.5\."),
        (lambda: GreedySearch(banned_tokens=[3, -2]), r"`banned_tokens` .* -2\."),
        (lambda: Sampling(temperature=0), r"`temperature` must be above 0 .* 0\."),
        (lambda: Sampling(temperature=float("inf")), r"`temperature` .* inf\."),
        (lambda: Sampling(top_k=0), r"`top_k` must be .* at least 1\. Received: 0\."),
        (lambda: Sampling(top_p=0.0), r"`top_p` must be in \(0, 1\]\. .* 0\.0\."),
        (lambda: Sampling(top_p=1.1), r"`top_p` must be in \(0, 1\]\. .* 1\.1\."),
        (lambda: Sampling(seed=-1), r"`seed` .* Received: -1\."),
    ],
)
def test_bad_options_are_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("start_ids", "options", "message"),
    [
        ([2], {"max_length": 0}, r"`max_length` .* at least 1\. Received: 0\."),
        ([2], {"max_length": 4.0}, r"`max_length` must be an integer .* 4\.0\."),
        ([[2, 3, 4]], {"max_length": 2}, r"`max_length` .* `start_ids`, 3\. .* 2\."),
        ([[[2]]], {}, r"`start_ids` must have shape .* Received: \(1, 1, 1\)\."),
        (np.zeros((2, 0), int), {}, r"`start_ids` .* at least 1\. .* \(2, 0\)\."),
        (np.ones(2, "float32"), {}, r"`start_ids` must hold integers\. .*float32"),
        ([2], {"end_id": 0}, r"`end_id` and `pad_id` must differ\. Received: 0"),
        ([2], {"end_id": -1}, r"`end_id` .* at least 0\. Received: -1\."),
        ([2, 2], {"limits": [3]}, r"`limits` .* here \(2,\)\. .* shape \(1,\)\."),
        ([2, 2], {"limits": [3, 3, 3]}, r"`limits` .* shape \(3,\)\."),
        ([2], {"limits": [2.5]}, r"`limits` must hold integers .* float"),
        ([2], {"end_id": 6}, r"`end_id` must be below the vocabulary .* 6\. .*: 6\."),
    ],
)
@each_search
def test_bad_arguments_are_refused_by_name(search, start_ids, options, message):
    with pytest.raises(ValueError, match=message):
        search(STEP, None, start_ids, **{"max_length": 4, **options})


@pytest.mark.parametrize(
    ("banned", "message"),
    [
        ([3, 1], r"`banned_tokens` must not hold `end_id`, 1\. Received: \(3, 1\)\."),
        ([3, 9], r"`banned_tokens` must be below the vocabulary .* 6\. Received: 9\."),
    ],
)
def test_banned_tokens_are_checked_against_the_vocabulary(banned, message):
    with pytest.raises(ValueError, match=message):
        GreedySearch(banned_tokens=banned)(STEP, None, [2], max_length=4)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda t, s, i: (ops.zeros((2, 1, 6)), s), r"logits of shape \(rows, voc"),
        (
            lambda t, s, i: (STEP(t, s, i)[0][:1], s),
            r"logits .* Received shape: \(1, 6",
        ),
        (lambda t, s, i: (STEP(t, s, i)[0], {"a": None}), r"structure .* None for"),
        (lambda t, s, i: (STEP(t, s, i)[0], s["a"]), r"`step` must .* structure"),
        (lambda t, s, i: (STEP(t, s, i)[0], {"a": s["a"][:, :1]}), r"shapes and dtype"),
        (
            lambda t, s, i: (STEP(t, s, i)[0], {"a": ops.cast(s["a"], "int32")}),
            r"shapes and dtypes .*int32 for .*float32",
        ),
    ],
)
@each_search
def test_a_step_that_breaks_its_contract_is_told(search, step, message):
    with pytest.raises(ValueError, match=message):
        search(step, {"a": np.zeros((2, 3), "float32")}, [2, 2], max_length=4)


@pytest.mark.parametrize("leaf", [np.zeros((3, 2)), np.float32(1)])
@each_search
def test_a_state_of_another_batch_size_is_refused(search, leaf):
    with pytest.raises(ValueError, match=r"`state` must .* `start_ids`, 2\. Received"):
        search(STEP, [leaf], [2, 2], max_length=4)


@each_search
@pytest.mark.parametrize("start_ids", [[2, 3], [[2, 3], [2, 4]]])
def test_a_start_at_the_limit_is_returned_as_cut(search, start_ids):
    start_ids = np.array(start_ids)
    length = 1 if start_ids.ndim == 1 else 2
    result = as_numpy(search(STEP, None, start_ids, max_length=length))
    assert result.ids[:, 0].tolist() == start_ids.reshape(2, -1).tolist()
    assert result.lengths[:, 0].tolist() == [0, 0]
    assert result.log_probs[:, 0].tolist() == [0, 0]
    assert result.scores[:, 0].tolist() == [0, 0]
    assert not result.finished.any()


@each_search
@pytest.mark.parametrize("shape", [(0,), (0, 3)])
def test_a_batch_of_none(search, shape):
    state = {"cache": np.zeros((0, 2, 4), "float32")}
    start_ids = np.zeros(shape, "int32")
    result = as_numpy(search(STEP, state, start_ids, max_length=7))
    n_best = getattr(search, "n_best", 1)
    assert result.ids.shape == (0, n_best, 7)
    assert [value.shape for value in result[1:]] == [(0, n_best)] * 4


@each_search
def test_a_row_without_a_distribution_ends_and_harms_no_other(search):
    table = log_table({2: {3: 1}, 3: {1: 1}, 6: {4: 1}}, vocabulary=7)
    for token, value in {4: np.nan, 5: -np.inf, 1: np.inf}.items():
        table[token] = value
    start_ids = [2, 4, 5, 1, 6, 2]
    result = as_numpy(search(table_step(table), None, start_ids, max_length=6))
    for row in (0, 5):
        assert result.ids[row, 0].tolist() == [2, 3, 1, 0, 0, 0]
        assert result.finished[row, 0]
        assert result.log_probs[row, 0] == 0
    for row in (1, 2, 3, 4):
        assert result.ids[row, 0].tolist() == [start_ids[row], 0, 0, 0, 0, 0]
        assert result.log_probs[row, 0] == result.scores[row, 0] == -np.inf
        assert result.lengths[row, 0] == 0
        assert not result.finished[row, 0]


@each_search
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_logits_give_finite_float32(search, dtype):
    logits = ops.cast(np.random.default_rng(0).normal(size=(6, 6)) * 2000, dtype)

    def step(token_ids, state, index):
        return ops.take(logits, token_ids, axis=0), state

    result = as_numpy(search(step, None, [2, 3, 4], max_length=20))
    assert str(result.log_probs.dtype) == str(result.scores.dtype) == "float32"
    assert np.isfinite(result.scores[:, 0]).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_logits_are_normalised_in_float32(dtype):
    logits = ops.cast(np.random.default_rng(1).normal(size=(6, 6)) * 4, dtype)

    def step(token_ids, state, index):
        return ops.take(logits, token_ids, axis=0), state

    result = as_numpy(GreedySearch()(step, None, [2, 3], max_length=20))
    exact = ops.convert_to_numpy(ops.cast(logits, "float32")).astype("float64")
    exact -= np.log(np.exp(exact).sum(-1, keepdims=True))
    for row in range(2):
        ids = result.ids[row, 0, : result.lengths[row, 0] + 1]
        expected = exact[ids[:-1], ids[1:]].sum()
        np.testing.assert_allclose(result.log_probs[row, 0], expected, atol=1e-4)


@each_search
def test_the_default_dtype_does_not_matter(search):
    keras.config.set_floatx("float16")
    result = as_numpy(search(STEP, None, [2, 3], max_length=6))
    assert str(result.log_probs.dtype) == str(result.scores.dtype) == "float32"


@pytest.mark.skipif(BACKEND != "torch", reason="only PyTorch records gradients eagerly")
@each_search
def test_no_gradient_is_recorded(search):
    logits = keras.Variable(np.zeros((6, 6)), dtype="float32").value

    def step(token_ids, state, index):
        return ops.take(logits, token_ids, axis=0), state + ops.sum(logits)

    assert logits.requires_grad
    result = search(step, np.zeros((2, 3), "float32"), [2, 3], max_length=6)
    assert not result.log_probs.requires_grad
