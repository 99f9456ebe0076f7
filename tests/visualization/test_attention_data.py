"""Attention maps as plain data."""

import dataclasses
import json
import re

import numpy as np
import pytest

from keras_transformer.visualization import attention_data
from tests.visualization.some_maps import SOURCE, TARGET, some_maps

pytestmark = pytest.mark.tensorflow_only


def test_data_is_json_with_the_tokens_and_rounded_weights():
    maps = some_maps()
    data = json.loads(json.dumps(attention_data(maps), allow_nan=False))
    assert data["source_tokens"] == SOURCE
    assert data["target_tokens"] == ["<s>", *TARGET]
    assert data["predicted_tokens"] == [*TARGET, "</s>"]
    for part in ("encoder", "cross", "decoder"):
        weights = np.array(data[part])
        assert weights.shape == getattr(maps, part).shape
        np.testing.assert_allclose(weights, getattr(maps, part), atol=0.00051)
        assert np.abs(weights - getattr(maps, part)).max() > 0


def test_a_weight_is_written_with_three_decimals():
    text = json.dumps(attention_data(some_maps())["cross"])
    assert max(len(number) for number in re.findall(r"[\d.]+", text)) == len("0.123")


@pytest.mark.parametrize("part", ["encoder", "cross", "decoder"])
def test_maps_of_other_sizes_than_the_tokens_are_refused(part):
    maps = dataclasses.replace(some_maps(), **{part: np.zeros((1, 2, 6, 7))})
    with pytest.raises(ValueError, match=rf"`maps\.{part}` .*\(1, 2, 6, 7\)"):
        attention_data(maps)


def test_maps_without_layers_are_refused():
    maps = dataclasses.replace(some_maps(), cross=np.zeros((0, 2, 6, 4)))
    with pytest.raises(ValueError, match=r"`maps\.cross` .*\(0, 2, 6, 4\)"):
        attention_data(maps)


@pytest.mark.parametrize("value", [np.nan, -0.1, 1.1])
def test_weights_that_are_none_are_refused(value):
    cross = some_maps().cross.copy()
    cross[1, 2, 3, 1] = value
    maps = dataclasses.replace(some_maps(), cross=cross)
    with pytest.raises(ValueError, match=r"`maps\.cross` must hold weights"):
        attention_data(maps)


def test_as_many_tokens_are_predicted_as_read():
    maps = dataclasses.replace(some_maps(), predicted_tokens=["one"])
    with pytest.raises(ValueError, match=r"`predicted_tokens` .* Received: 1 and 6"):
        attention_data(maps)
