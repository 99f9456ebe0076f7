"""Graphs for servers: of TensorFlow's core operations, and without XLA."""

from contextlib import contextmanager
from contextvars import ContextVar

_plain = ContextVar("plain_graph", default=False)
_update: ContextVar = ContextVar("update_slice", default=None)


@contextmanager
def plain_graph(update=None):
    """Trace steps as a server without XLA runs them best.

    Elsewhere a slice of a cache is updated by an operation of XLA's, and kernels are
    brought into shape before a loop: without XLA each tensor that enters a loop takes
    four operations a step, so that each step reads and reshapes them itself.

    Args:
        update: `update(block, rows, place, axis)`, which writes `rows` into `block`
            from `place` on, in range. Without one each slot chooses between its old
            row and a new one.
    """
    tokens = _plain.set(True), _update.set(update)
    try:
        yield
    finally:
        _plain.reset(tokens[0])
        _update.reset(tokens[1])


def is_plain():
    """Tell whether a plain graph is being traced."""
    return _plain.get()


def plain_update():
    """Return the `update` of the plain graph that is being traced, if it has one."""
    return _update.get()
