"""TensorFlow's warning of repeated tracing, where the traces are bounded by design."""

import contextlib
import logging


@contextlib.contextmanager
def expected_tracing():
    """Leave out TensorFlow's warning of repeated tracing.

    Each array size of `capacities` is a function of its own, traced for a few batch
    sizes. TensorFlow counts the traces of all Keras models together, and would warn
    after the first few.
    """
    logger = logging.getLogger("tensorflow")
    logger.addFilter(_is_other)
    try:
        yield
    finally:
        logger.removeFilter(_is_other)


def _is_other(record):
    return "triggered tf.function retracing" not in record.getMessage()
