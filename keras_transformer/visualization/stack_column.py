"""One stack of blocks, drawn from its input up."""

import textwrap

from matplotlib.patches import Circle, FancyBboxPatch

from keras_transformer.visualization.block_parts import number_of_parameters

# All lengths in inches.
WIDTH = 3.2  # of a box
LINE = 0.17
GAP = 0.24
PAD = 0.2  # from a box to the frame of its block
SIDE = 0.25  # from a box to the residual connection around it
RADIUS = 0.13  # of the sign of a sum
TIMES = "\N{MULTIPLICATION SIGN}"
LETTERS = 52  # in a line
COLORS = {  # face and edge, as in docs/images/architecture.svg
    "attend": ("#ffe3c2", "#e08a2e"),
    "feed": ("#d3e8fb", "#4b93d1"),
    "norm": ("#fdf6c9", "#cfae2b"),
    "embed": ("#f9d9e2", "#d2708d"),
    "use": ("#d9f2df", "#4fa869"),
    "frame": ("#f1f5f9", "#94a3b8"),
}
INK, FAINT, RESIDUAL = "#1f2937", "#475569", "#94a3b8"


class StackColumn:
    """Draw a stack into axes whose units are inches.

    Args:
        axes: matplotlib's axes.
        x: middle of the stack.
        outwards: -1 if residual connections go around on the left, 1 on the right.

    Attributes:
        y: how far up the drawing has come.
        memory_at: height of the part that attends to the encoder's output.
    """

    def __init__(self, axes, x, outwards):
        self.axes, self.x, self.outwards = axes, x, outwards
        self.y = self.memory_at = 0.0

    def draw(self, stack):
        """Draw all of a stack."""
        self._word(stack.source)
        for part in stack.before:
            self._arrow_up()
            self._box(part)
        self._blocks(stack)
        for part in stack.after:
            self._arrow_up()
            self._box(part)
        self._arrow_up()
        self._word(stack.result)

    def _blocks(self, stack):
        self._arrow_up()
        bottom = self.y
        start = self.y + GAP / 2  # where the residual connection begins
        for part in stack.block:
            self._arrow_up()
            low = self.y
            if part.kind == "add":
                self._sum()
            else:
                self._box(part)
            middle = (low + self.y) / 2
            if part.memory:
                self.memory_at = middle
            if part.residual:
                self._residual(
                    start, middle, RADIUS if part.kind == "add" else WIDTH / 2
                )
                start = self.y + GAP / 2
        top = self.y
        self.y += GAP
        kind, count = type(stack.blocks[0]).__name__, len(stack.blocks)
        layers = [layer for part in stack.block for layer in part.layers]
        each = number_of_parameters(layers)
        self._title(f"{count} {TIMES} {kind}", f"{each:,} parameters each")
        self.y += 0.08
        draw_line(self.axes, [(self.x, top), (self.x, self.y)], FAINT)
        self._rectangle(bottom, "frame", WIDTH + 2 * (PAD + SIDE), zorder=0.5)

    def _box(self, part):
        bottom = self.y
        self.y += 0.06
        for line in reversed(textwrap.wrap(part.detail, LETTERS)):
            self._text(line, -1, 8, FAINT)
            self.y += LINE
        count = number_of_parameters(part.layers)
        self._title(part.name, f"{count:,} parameters" if count else "")
        self.y += 0.06
        self._rectangle(bottom, part.kind, WIDTH)

    def _title(self, name, number):
        self._text(name, -1, 9.5, INK, weight="bold")
        self._text(number, 1, 8, FAINT)
        self.y += LINE

    def _word(self, word):
        self.y += 0.05
        self._text(word, 0, 9.5, INK)
        self.y += LINE

    def _text(self, text, side, size, color, **options):
        """Write a line on the left (-1), in the middle or on the right (1)."""
        self.axes.text(
            self.x + side * (WIDTH / 2 - 0.1),
            self.y + LINE / 2,
            text,
            size=size,
            color=color,
            ha=("center", "right", "left")[side],
            va="center_baseline",
            parse_math=False,
            **options,
        )

    def _sum(self):
        middle = self.y + RADIUS
        circle = Circle((self.x, middle), RADIUS, fc="white", ec=FAINT, lw=1.2)
        self.axes.add_patch(circle)
        half = 0.6 * RADIUS
        for across, up in ((half, 0), (0, half)):
            draw_line(
                self.axes,
                [(self.x - across, middle - up), (self.x + across, middle + up)],
                FAINT,
            )
        self.y += 2 * RADIUS

    def _arrow_up(self):
        path = [(self.x, self.y), (self.x, self.y + GAP)]
        draw_line(self.axes, path, FAINT, arrow=True)
        self.y += GAP

    def _residual(self, start, end, reach):
        around = self.x + self.outwards * (WIDTH / 2 + SIDE)
        into = self.x + self.outwards * reach
        path = [(self.x, start), (around, start), (around, end), (into, end)]
        draw_line(self.axes, path, RESIDUAL, arrow=True)

    def _rectangle(self, bottom, kind, width, zorder=1.0):
        face, edge = COLORS[kind]
        self.axes.add_patch(
            FancyBboxPatch(
                (self.x - width / 2, bottom),
                width,
                self.y - bottom,
                boxstyle="round,pad=0,rounding_size=0.07",
                fc=face,
                ec=edge,
                lw=1.2,
                zorder=zorder,
            )
        )


def draw_line(axes, points, color, arrow=False):
    """Draw a line through points, with a head at its end if asked for."""
    axes.plot(*zip(*points, strict=True), color=color, lw=1.4, zorder=1.5)
    if arrow:
        axes.annotate(
            "",
            points[-1],
            points[-2],
            arrowprops={
                "arrowstyle": "-|>",
                "color": color,
                "lw": 1.4,
                "shrinkA": 0,
                "shrinkB": 0,
            },
            zorder=1.5,
        )
