"""A model's architecture as a picture."""

from keras_transformer.text.optional_imports import require
from keras_transformer.visualization.model_stacks import model_stacks


def plot_architecture(model, *, title=None):
    """Draw a model as the paper draws it, with its own settings, with matplotlib.

    A block is drawn once, with the number of blocks beside it: where it normalises,
    its heads and widths, where positions come in, which tables are the same, and how
    many parameters each part has. `keras.utils.plot_model` draws the graph of all
    layers instead, of any model.

    Args:
        model: a `Transformer`, `LanguageModel`, `Encoder`, `TextClassifier` or
            `MaskedLanguageModel`.
        title: heading of the figure, instead of the model's class, width and number of
            parameters.

    Returns:
        A `matplotlib.figure.Figure`, as `plot_attention`.

    Raises:
        ImportError: without matplotlib.
        TypeError: for another model.

    Examples:
        >>> from keras_transformer import Transformer
        >>> from keras_transformer.visualization import plot_architecture
        >>> model = Transformer(50, num_layers=1, hidden_dim=16, num_heads=2,
        ...                     intermediate_dim=32)
        >>> figure = plot_architecture(model)
        >>> figure.get_suptitle()
        'Transformer, width 16: 6,368 parameters'
    """
    stacks = model_stacks(model)
    require("matplotlib", "plot_architecture")
    from keras_transformer.visualization.stack_drawing import draw_stacks

    options = getattr(model, "encoder", model).options
    own = (
        f"{type(model).__name__}, width {options['hidden_dim']:,}: "
        f"{model.count_params():,} parameters"
    )
    return draw_stacks(stacks, own if title is None else title)
