"""The curves of a training run as a picture."""

from keras_transformer.text.optional_imports import require
from keras_transformer.visualization.training_curves import training_curves


def plot_training(history, *, title=None):
    """Draw the curves of a training run with matplotlib.

    Each quantity has a panel: the loss of training and of validation, the accuracy of
    tokens, BLEU, the learning rate, whatever was logged. The horizontal axis counts
    steps where they are in the log, and otherwise epochs. Keras does not keep which
    epochs a quantity is from that isn't measured in each: its values are counted
    instead, as the name of the axis then says.

    Args:
        history: what `fit` returns, its `history`, a list of a dictionary for each
            epoch, or the path of a `log.json` that `keras-transformer train` writes.
        title: heading of the figure.

    Returns:
        A `matplotlib.figure.Figure`, as `plot_attention`.

    Raises:
        ImportError: without matplotlib.
        ValueError: for what is no history, or an empty one.

    Examples:
        >>> from keras_transformer.visualization import plot_training
        >>> figure = plot_training({"loss": [4.1, 3.2], "val_loss": [3.9, 3.3]})
        >>> [axes.get_title() for axes in figure.axes]
        ['loss']
    """
    curves = training_curves(history)
    require("matplotlib", "plot_training")
    from keras_transformer.visualization.curve_panels import draw_curves

    return draw_curves(curves, title)
