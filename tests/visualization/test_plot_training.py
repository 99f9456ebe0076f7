"""Pictures of training runs."""

import json
import math

import keras
import numpy as np
import pytest

from keras_transformer.visualization import plot_training

pytestmark = pytest.mark.tensorflow_only
pytest.importorskip("matplotlib")
EPOCHS = [
    {"step": 62, "seconds": 9.1, "loss": 4.0, "val_loss": 3.9, "lr": 0.1},
    {"step": 124, "seconds": 8.2, "loss": 3.0, "val_loss": 3.2, "lr": 0.2},
    {"step": 186, "seconds": 8.3, "loss": 2.5, "val_loss": 2.9, "lr": 0.3,
     "val_bleu": 21.5},
]  # fmt: skip


def points(line):
    return list(zip(*line.get_data(), strict=True))


def curves(figure):
    """Return of each panel its axis and {label: (places, values)}."""
    figure._repr_png_()  # it can be drawn
    return {
        axes.get_title(): (
            axes.get_xlabel(),
            {line.get_label(): points(line) for line in axes.lines},
        )
        for axes in figure.axes
    }


def test_a_log_of_epochs_has_a_panel_for_each_quantity():
    assert curves(plot_training(EPOCHS)) == {
        "loss": (
            "step",
            {
                "training": [(62, 4.0), (124, 3.0), (186, 2.5)],
                "validation": [(62, 3.9), (124, 3.2), (186, 2.9)],
            },
        ),
        "learning rate": ("step", {"training": [(62, 0.1), (124, 0.2), (186, 0.3)]}),
        "BLEU": ("step", {"validation": [(186, 21.5)]}),
    }


@pytest.mark.parametrize("as_path", [str, lambda path: path])
def test_the_log_of_a_recipe_is_read_from_its_file(tmp_path, as_path):
    file = tmp_path / "log.json"
    file.write_text(json.dumps({"seed": 1, "epochs": EPOCHS}), encoding="utf-8")
    assert curves(plot_training(as_path(file))) == curves(plot_training(EPOCHS))


def test_what_fit_returns_is_drawn_over_epochs():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    data = np.ones((8, 2)), np.ones((8, 1))
    options = {"initial_epoch": 3, "epochs": 5, "verbose": 0}
    history = model.fit(*data, validation_data=data, **options)
    found = curves(plot_training(history, title="two $epochs$"))
    assert list(found) == ["loss", "mae"]
    axis, lines = found["loss"]
    assert axis == "epoch"
    losses = history.history["val_loss"]
    assert lines["validation"] == list(zip((4, 5), losses, strict=True))


def test_values_of_some_epochs_are_counted_by_themselves():
    found = curves(plot_training({"loss": [4, 3, 2, 1], "val_bleu": [3.5, 7.5]}))
    assert found["loss"] == ("epoch", {"training": [(1, 4), (2, 3), (3, 2), (4, 1)]})
    axis, lines = found["BLEU"]
    assert axis == "measurement, 2 in 4 epochs"
    assert lines == {"validation": [(1, 3.5), (2, 7.5)]}


def test_values_that_are_lost_are_counted():
    (_, lines), *_ = curves(
        plot_training({"loss": [4.0, math.nan, math.inf], "val_loss": [4.0, 3.0, 2.0]})
    ).values()
    assert list(lines) == ["training (2 of 3 are no finite numbers)", "validation"]


def test_a_title_is_no_formula():
    figure = plot_training(EPOCHS, title="$ and $x^2")
    figure._repr_png_()
    assert figure.get_suptitle() == "$ and $x^2"


@pytest.mark.parametrize("history", [3, {"loss": 4.0}, [1, 2], {"epochs": 3}])
def test_what_is_no_history_is_refused(history):
    with pytest.raises(ValueError, match="`history` must be a Keras `History`"):
        plot_training(history)


@pytest.mark.parametrize("history", [[], {}, {"epochs": []}, [{"step": 3}]])
def test_an_empty_history_is_refused(history):
    with pytest.raises(ValueError, match="`history` must have an epoch at least"):
        plot_training(history)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no\.json"):
        plot_training(tmp_path / "no.json")


def test_numbers_that_are_lost_are_told_of_a_lone_curve_too():
    figure = plot_training({"loss": [4.0, math.nan, 2.0]})
    (text,) = figure.axes[0].get_legend().get_texts()
    assert text.get_text() == "training (1 of 3 are no finite numbers)"
