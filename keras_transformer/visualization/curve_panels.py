"""Panels of curves, one for each quantity."""

import math

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from keras_transformer.visualization.notebook_figure import NotebookFigure

PANEL = (4.2, 3.2)  # inches
ACROSS = (3, 2)  # panels in a line, such that few places stay empty
NAMES = {"bleu": "BLEU", "lr": "learning rate"}
# Told apart by lightness and by the line too.
LOOKS = {False: ("#7f7f7f", "--", "training"), True: ("#0b4f9e", "-", "validation")}
FEW = 30  # values, that are marked each


def draw_curves(curves, title) -> Figure:
    """Draw curves.

    Args:
        curves: list of `Curve`.
        title: heading of the figure, or `None`.

    Returns:
        The figure.
    """
    panels = {}
    for curve in curves:
        panels.setdefault((curve.quantity, curve.axis), []).append(curve)
    across = min(len(panels), min(ACROSS, key=lambda number: -len(panels) % number))
    down = math.ceil(len(panels) / across)
    figure = NotebookFigure((PANEL[0] * across, PANEL[1] * down), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False).ravel()
    for axes, ((quantity, axis), members) in zip(grid, panels.items(), strict=False):
        axes.set_title(NAMES.get(quantity, quantity.replace("_", " ")))
        axes.set_xlabel(axis)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))
        axes.grid(alpha=0.3)
        for curve in members:
            _draw(axes, curve)
        lost = any(not math.isfinite(one) for curve in members for one in curve.values)
        if len(members) > 1 or members[0].name != quantity or lost:
            axes.legend(fontsize="small")
    for unused in grid[len(panels) :]:
        unused.remove()
    if title is not None:
        figure.suptitle(title, parse_math=False, wrap=True)
    return figure


def _draw(axes, curve):
    color, line, label = LOOKS[curve.name != curve.quantity]
    lost = sum(not math.isfinite(value) for value in curve.values)
    if lost:
        label = f"{label} ({lost} of {len(curve.values)} are no finite numbers)"
    axes.plot(
        curve.places,
        curve.values,
        line,
        color=color,
        marker="o" if len(curve.values) <= FEW else None,
        markersize=3,
        label=label,
    )
