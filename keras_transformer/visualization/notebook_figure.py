"""A figure that shows itself."""

import io

from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A matplotlib figure that notebooks show without pyplot.

    pyplot knows nothing of it, so that figures don't pile up in memory: it goes when
    nothing refers to it any more. `savefig` writes it to a file.
    """

    def _repr_png_(self):
        file = io.BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()
