"""Panels of attention weights in one figure, with tokens at their sides."""

from matplotlib.figure import Figure

from keras_transformer.visualization.label_fonts import label_fonts
from keras_transformer.visualization.notebook_figure import NotebookFigure
from keras_transformer.visualization.panel_sizes import panel_sizes
from keras_transformer.visualization.token_labels import token_labels, without

COLORS = "Blues"  # light to dark in one hue: readable without seeing colours
ROWS, COLUMNS, READ = range(3)  # the sides of a panel
SCALE = 3.5  # inches, of the bar that shows the colours of weights


def draw_panels(panels, sides, *, vmax, title) -> Figure:
    """Draw panels.

    Args:
        panels: list of (heading, weights (rows, columns)).
        sides: three pairs of the name of an axis and its tokens: rows, columns, and
            the second axis of rows, which may have none.
        vmax: weight of the darkest colour; `None` for the largest of all panels.
        title: heading of the figure.

    Returns:
        The figure.
    """
    names, tokens = zip(*sides, strict=True)
    lists = [token_labels(side) for side in tokens]
    written = [text for labels in lists for text in labels]
    families, lacking = label_fonts([*written, title])
    lists = [[without(lacking, text) for text in labels] for labels in lists]
    sizes = panel_sizes(len(panels), *lists)
    figure = NotebookFigure((sizes.width, sizes.height), layout="compressed")
    grid = figure.subplots(sizes.down, sizes.across, squeeze=False).ravel()
    largest = max(float(weights.max()) for _, weights in panels)
    top = largest if vmax is None else vmax
    for place, (heading, weights) in enumerate(panels):
        image = grid[place].imshow(weights, cmap=COLORS, vmin=0, vmax=top)
        grid[place].set_title(heading, fontsize=sizes.font + 1)
        outer = _outer_sides(place, len(panels), sizes.across)
        for axis, side, labels in _axes_with_labels(grid[place], outer, lists):
            turned = sizes.upright and side == COLUMNS
            _write_labels(axis, names[side], labels, families, sizes, turned)
    for unused in grid[len(panels) :]:
        unused.remove()
    bar = figure.colorbar(
        image,
        ax=list(grid[: len(panels)]),
        extend="max" if largest > top else "neither",
        shrink=min(1, SCALE / sizes.height),
        aspect=20,
    )
    bar.set_label(
        "weight; darkest: largest shown" if vmax is None else "weight", size=9
    )
    bar.ax.tick_params(labelsize=8)
    figure.suptitle(
        without(lacking, title), family=families, parse_math=False, wrap=True, size=11
    )
    return figure


def _outer_sides(place, panels, across):
    """Whether nothing is on the left of a panel, below it and on its right."""
    end = (place + 1) % across == 0 or place == panels - 1
    return place % across == 0, place + across >= panels, end


def _axes_with_labels(axes, outer, lists):
    """Yield each outer axis with the number of its side and its labels."""
    for side, axis in ((ROWS, axes.yaxis), (COLUMNS, axes.xaxis)):
        if outer[side]:
            yield axis, side, lists[side]
        else:
            axis.set_ticks([])
    if outer[READ] and lists[READ]:
        yield axes.secondary_yaxis("right").yaxis, READ, lists[READ]


def _write_labels(axis, name, labels, families, sizes, turned):
    places = range(0, len(labels), sizes.every)
    axis.set_ticks(
        places,
        [labels[i] for i in places],
        fontsize=sizes.font,
        family=families,
        parse_math=False,
        rotation=90 if turned else 0,
    )
    axis.set_tick_params(length=2)
    skipping = f" (1 label for {sizes.every})" if sizes.every > 1 else ""
    axis.set_label_text(name + skipping, fontsize=sizes.font + 1)
