"""A progress bar for long work."""

import rich.console
import rich.progress

LONG_WORK = 1000


def with_progress(batches, number, description):
    """Iterate over batches, with a bar on the error stream from 1,000 items on.

    Args:
        batches: a sized iterable.
        number: number of items in all batches.
        description: what is being done.
    """
    if number < LONG_WORK:
        return iter(batches)
    console = rich.console.Console(stderr=True)
    return iter(
        rich.progress.track(
            batches, description, total=len(batches), console=console, transient=True
        )
    )
