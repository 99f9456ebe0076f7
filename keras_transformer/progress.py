"""A progress bar for long work."""

import rich.console
import rich.progress

LONG_WORK = 1000


def with_progress(items, number, description):
    """Iterate over items; where they are 1,000 or more, with a bar on a terminal.

    The bar is on standard error. In a file or a pipe there is none.

    Args:
        items: an iterable.
        number: how many there are; `None` if nobody knows, then they are counted and
            the bar comes with the thousandth.
        description: what is being done.
    """
    console = rich.console.Console(stderr=True)
    watched = console.is_terminal or console.is_jupyter
    if not watched or (number is not None and number < LONG_WORK):
        yield from items
        return
    with rich.progress.Progress(
        rich.progress.TextColumn("{task.description}"),
        rich.progress.BarColumn(),
        rich.progress.MofNCompleteColumn(),
        rich.progress.TimeElapsedColumn(),
        rich.progress.TimeRemainingColumn(),
        console=console,
        transient=True,
        refresh_per_second=2,
    ) as bar:
        task = bar.add_task(description, total=number, visible=number is not None)
        for count, item in enumerate(items, 1):
            if count == LONG_WORK:
                bar.update(task, visible=True)
            yield item
            bar.advance(task)
