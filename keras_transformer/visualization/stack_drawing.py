"""Stacks of blocks, drawn side by side."""

from matplotlib.figure import Figure

from keras_transformer.visualization.notebook_figure import NotebookFigure
from keras_transformer.visualization.stack_column import (
    WIDTH,
    StackColumn,
    draw_line,
)

COLUMN = 4.7  # inches, from the middle of a stack to that of the next
BELOW, ABOVE = 0.15, 0.5  # inches of margin
MEMORY = "#c2570c"


def draw_stacks(stacks, title) -> Figure:
    """Draw stacks.

    Args:
        stacks: one `Stack`, or two of which the second attends to the first.
        title: heading of the figure.

    Returns:
        The figure.
    """
    figure = NotebookFigure()
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    columns = []
    for number, stack in enumerate(stacks):
        columns.append(StackColumn(axes, COLUMN * number, 1 if number else -1))
        columns[-1].draw(stack)
    if len(columns) == 2:
        _draw_memory(axes, *columns)
    left, right = -COLUMN / 2, COLUMN * (len(stacks) - 0.5)
    bottom, top = -BELOW, max(column.y for column in columns) + ABOVE
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    figure.set_size_inches(right - left, top - bottom)
    figure.suptitle(title, size=11, y=1 - 0.1 / (top - bottom), parse_math=False)
    return figure


def _draw_memory(axes, encoder, decoder):
    """Lead the encoder's output to where the decoder's blocks attend to it."""
    middle, into = (encoder.x + decoder.x) / 2, decoder.memory_at
    start = encoder.x + 0.4, encoder.y - 0.08  # beside the word
    path = [start, (middle, start[1]), (middle, into), (decoder.x - WIDTH / 2, into)]
    draw_line(axes, path, MEMORY, arrow=True)
