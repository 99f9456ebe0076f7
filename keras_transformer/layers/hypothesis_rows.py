"""Rows of hypotheses beside the rows of their sources."""


def check_rows(x, state, memory, hypotheses):
    """Check the first dimensions of a step's tensors, where they are known.

    Args:
        x: (rows, ...), a row for each hypothesis.
        state: (rows, ...).
        memory: (sources, ...).
        hypotheses: number of adjacent rows for each source.

    Raises:
        ValueError: for other rows than those of the state, or of all sources.
    """
    rows, held, sources = x.shape[0], state.shape[0], memory.shape[0]
    if None not in (rows, held) and rows != held:
        raise ValueError(
            f"`x` must have a row for each of the state's, here {held}. "
            f"Received: {rows}."
        )
    if None not in (rows, sources) and rows != sources * hypotheses:
        raise ValueError(
            "`hypotheses` must be as it was in `start`, which made a state of "
            f"{rows} rows for {sources} sources. Received: {hypotheses}."
        )
