"""How large a figure of attention maps gets, and which of its labels are drawn."""

import math
import unicodedata
from dataclasses import dataclass

LARGEST = 36.0  # inches, width and height of a figure
SMALLEST = (4.5, 3.0)  # inches, what a heading and the names of axes need
CELL = {True: 0.22, False: 0.13}  # inches; True for the only panel of a figure
MAP = {True: 3.0, False: 1.4}  # inches, of a map of few tokens
LARGEST_CELL = 0.5
FONT = {True: 9.0, False: 6.5}  # points
LINE = 1.25  # height of a line in sizes of its font
LETTER = 0.62  # width of a letter in sizes of its font
BESIDE = 1.2  # inches for the scale and what is left free
AROUND = 0.45  # inches for the name of an axis and its ticks, or for a heading


@dataclass(frozen=True)
class PanelSizes:
    """Sizes of a figure of equal panels.

    Attributes:
        across: number of panels in a line.
        down: number of lines.
        width: of the figure, in inches.
        height: of the figure, in inches.
        font: size of the labels, in points.
        every: a label stands at each of this many rows and columns; 1 for all.
        upright: whether the labels of columns are turned.
    """

    across: int
    down: int
    width: float
    height: float
    font: float
    every: int
    upright: bool


def panel_sizes(panels, rows, columns, read):
    """Choose the sizes.

    Args:
        panels: number of panels.
        rows: labels of rows.
        columns: labels of columns.
        read: labels on the right, or an empty list.

    Returns:
        `PanelSizes`.
    """
    single = panels == 1
    across = columns_of(panels)
    down = math.ceil(panels / across)
    font = FONT[single]
    beside = _room(rows, font) + (_room(read, font) if read else 0) + BESIDE
    below = _room(columns, font) + AROUND
    between = 0 if single else AROUND  # headings of panels
    cell = min(
        max(CELL[single], min(MAP[single] / len(columns), LARGEST_CELL)),
        (LARGEST - beside) / (len(columns) * across),
        (LARGEST - below - between * down) / (len(rows) * down),
    )
    return PanelSizes(
        across=across,
        down=down,
        width=max(cell * len(columns) * across + beside, SMALLEST[0]),
        height=max((cell * len(rows) + between) * down + below, SMALLEST[1]),
        font=font,
        every=math.ceil(font * LINE / 72 / cell),
        upright=max(map(width_of, columns)) * font / 72 > cell,
    )


def columns_of(panels):
    """Return the number of panels in a line, such that few places stay empty."""
    least = math.ceil(math.sqrt(panels))
    return min(range(least, max(least, 6) + 1), key=lambda across: -panels % across)


def width_of(label):
    """Return about how wide a label is, in sizes of its font."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in label)
    return LETTER * (len(label) - wide) + wide


def _room(labels, font):
    return max(map(width_of, labels)) * font / 72 + AROUND
