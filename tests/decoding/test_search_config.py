import keras
import pytest

from keras_transformer.decoding import BeamSearch, GreedySearch, Sampling

OPTIONS = {
    "length_penalty": 0.25,
    "min_length": 3,
    "min_ratio": 0.5,
    "max_ratio": 1.5,
    "no_repeat_ngram": 4,
    "banned_tokens": [5, 6],
}
BEAM = {"num_beams": 7, "n_best": 2, **OPTIONS}
SAMPLING = {"temperature": 0.5, "top_k": 9, "top_p": 0.75, "seed": 8, **OPTIONS}
CASES = [(GreedySearch, OPTIONS), (BeamSearch, BEAM), (Sampling, SAMPLING)]
each_case = pytest.mark.parametrize(("kind", "options"), CASES)


@each_case
def test_config_holds_every_option(kind, options):
    assert kind(**options).get_config() == options


@each_case
def test_comes_back_equal_from_its_serialized_form(kind, options):
    search = kind(**options)
    serialized = keras.saving.serialize_keras_object(search)
    assert serialized["registered_name"] == f"keras_transformer>{kind.__name__}"
    back = keras.saving.deserialize_keras_object(serialized)
    assert type(back) is kind
    assert back == search
    assert hash(back) == hash(search)
    assert back.get_config() == options


@each_case
def test_any_other_option_makes_it_unequal(kind, options):
    search = kind(**options)
    assert search != kind()
    for name in options:
        others = {key: value for key, value in options.items() if key != name}
        assert search != kind(**others), name
    assert search != "search"


def test_different_kinds_are_unequal():
    assert GreedySearch() != Sampling()


def test_seed_generators_come_back():
    search = Sampling(seed=keras.random.SeedGenerator(5))
    serialized = keras.saving.serialize_keras_object(search)
    back = keras.saving.deserialize_keras_object(serialized)
    assert back.get_config() == search.get_config()
    assert isinstance(back.seed, keras.random.SeedGenerator)


def test_repr_reads_like_the_constructor():
    expected = (
        "BeamSearch(num_beams=7, n_best=2, length_penalty=0.25, min_length=3, "
        "min_ratio=0.5, max_ratio=1.5, no_repeat_ngram=4, banned_tokens=[5, 6])"
    )
    assert repr(BeamSearch(**BEAM)) == expected
