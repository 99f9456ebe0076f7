import numpy as np
import pytest

from keras_transformer import SmoothedCrossEntropy, TokenMasking

SPECIAL = (1, 2)
OPTIONS = {"vocabulary_size": 40, "mask_id": 3, "special_ids": SPECIAL}


def sentences(rows=300, length=50, seed=1):
    ids = np.random.default_rng(seed).integers(4, 40, (rows, length)).astype("int32")
    ids[:, 0], ids[:, -5], ids[:, -4:] = 2, 1, 0
    return ids


def test_shares_of_the_rule():
    ids = sentences()
    inputs, labels = TokenMasking(**OPTIONS, seed=1)(ids)
    chosen = labels != 0
    tokens = ids > 3
    assert abs(chosen.sum() / tokens.sum() - 0.15) < 0.01
    masked, same = inputs[chosen] == 3, inputs[chosen] == ids[chosen]
    assert abs(masked.mean() - 0.8) < 0.03
    assert abs(same.mean() - 0.1 - 0.1 / 36) < 0.02
    others = inputs[chosen][~masked & ~same]
    assert abs(len(others) / chosen.sum() - 0.1) < 0.02
    assert set(others) == set(range(4, 40))


def test_what_is_not_chosen_stays_and_has_no_label():
    ids = sentences()
    before = ids.copy()
    inputs, labels = TokenMasking(**OPTIONS, rate=0.5, seed=2)(ids)
    np.testing.assert_array_equal(ids, before)
    chosen = labels != 0
    np.testing.assert_array_equal(inputs[~chosen], ids[~chosen])
    np.testing.assert_array_equal(labels[chosen], ids[chosen])
    assert not chosen[ids <= 3].any()
    assert inputs.dtype == labels.dtype == ids.dtype


def test_seeds():
    ids = sentences(4)
    first, second = (TokenMasking(**OPTIONS, seed=3) for _ in range(2))
    one, other = first(ids), second(ids)
    np.testing.assert_array_equal(one, other)
    assert (np.array(first(ids)) != np.array(one)).any()
    assert (np.array(TokenMasking(**OPTIONS, seed=4)(ids)) != np.array(one)).any()


def test_padding_of_another_id():
    ids = np.array([[5, 6, 7, 9, 9]])
    masking = TokenMasking(10, 3, pad_id=9, rate=0.99, seed=1)
    inputs, labels = masking(ids)
    assert (inputs[:, 3:] == 9).all()
    assert (labels[:, 3:] == 9).all()
    assert (labels[:, :3] == ids[:, :3]).any()


def test_the_loss_is_the_mean_over_chosen_positions():
    ids = sentences(6)
    _, labels = TokenMasking(**OPTIONS, seed=1)(ids)
    logits = np.random.default_rng(0).normal(size=(6, 50, 40)).astype("float32")
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    rows, columns = np.nonzero(labels)
    expected = -log_probs[rows, columns, labels[rows, columns]].mean()
    found = float(SmoothedCrossEntropy()(labels, logits))
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"vocabulary_size": 0}, r"`vocabulary_size` must be an integer.*: 0\."),
        ({"mask_id": 40}, r"`mask_id` must be ids from 0 to 39\. Received: 40\."),
        ({"pad_id": -1}, r"`pad_id` must be ids from 0 to 39\. Received: -1\."),
        ({"special_ids": [1, 41]}, r"`special_ids` must be ids.* Received: 41\."),
        ({"pad_id": 3}, r"`mask_id` and `pad_id` must differ\. Received: 3 for both"),
        ({"rate": 1.0}, r"`rate` must be in \[0, 1\)\. Received: 1\.0\."),
        ({"special_ids": range(40)}, r"`special_ids` must leave some ids"),
    ],
)
def test_errors(options, error):
    with pytest.raises(ValueError, match=error):
        TokenMasking(**{**OPTIONS, **options})


def test_special_ids_of_an_iterator():
    ids = sentences()
    drawn = [
        TokenMasking(**{**OPTIONS, "special_ids": special}, rate=0.9, seed=3)(ids)
        for special in (SPECIAL, iter(SPECIAL))
    ]
    np.testing.assert_array_equal(*drawn)


@pytest.mark.parametrize("ids", [[[1.0]], [[40]], [[-1]]])
def test_ids_that_are_refused(ids):
    with pytest.raises(ValueError, match=r"`token_ids` must be .* Received:"):
        TokenMasking(**OPTIONS)(ids)
