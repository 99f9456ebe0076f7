"""Search over any number of batches, several at a time."""

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np

from keras_transformer.argument_checks import check_positive_integer
from keras_transformer.decoding.expected_tracing import expected_tracing
from keras_transformer.decoding.length_limit import target_limit
from keras_transformer.decoding.sampling import Sampling
from keras_transformer.decoding.sequence_generator import SequenceGenerator

MOST_WORKERS = 8


class BatchGenerator:
    """Runs a search over batches of sources, in order.

    A matrix product of a few rows keeps one core busy and hardly two, so with
    TensorFlow on CPUs each worker thread has a batch of its own. The function for each
    shape of a batch is compiled once and kept.

    Args:
        model: as for `SequenceGenerator`.
        search: as for `SequenceGenerator`.
        max_length: as for `SequenceGenerator`.
        workers: number of batches at a time. If not given, on TensorFlow the number
            of cores, but 1 with an accelerator and for `Sampling`, whose random
            numbers have an order. Keras's functions on other backends are not for
            several threads.

    Raises:
        ValueError: for a number below 1, or above 1 on another backend.
    """

    def __init__(self, model, search, max_length, *, workers=None):
        self.model, self.search, self.max_length = model, search, max_length
        if workers is None:
            workers = default_workers(search)
        self.workers = check_positive_integer("workers", workers)
        if workers > 1 and keras.backend.backend() != "tensorflow":
            raise ValueError(
                f"`workers` must be 1 on {keras.backend.backend()}. "
                f"Received: {workers}."
            )
        self._generators = {}
        self._compiled = set()

    def __call__(self, batches):
        """Search.

        Args:
            batches: an iterable of int32 (sources, source), padded with `pad_id`.

        Yields:
            For each batch the fields of a `SearchResult` as NumPy arrays.
        """
        running = deque()
        with ThreadPoolExecutor(self.workers) as pool:
            try:
                for source_ids in map(np.asarray, batches):
                    run = self._generator(source_ids.shape[1]).predict_on_batch
                    if self.workers > 1 and source_ids.shape in self._compiled:
                        running.append(pool.submit(run, source_ids))
                        yield from _results(running, self.workers)
                        continue
                    # Keras's settings, which tracing asks for, are this thread's own.
                    yield from _results(running, 0)
                    with expected_tracing():
                        result = run(source_ids)
                    self._compiled.add(source_ids.shape)
                    yield result
                yield from _results(running, 0)
            finally:
                for future in running:
                    future.cancel()

    def _generator(self, width):
        if width not in self._generators:
            capacity = target_limit(width, self.max_length)
            self._generators[width] = SequenceGenerator(
                self.model, self.search, self.max_length, capacity=capacity
            )
        return self._generators[width]


def default_workers(search):
    """Return how many batches to run at a time."""
    if keras.backend.backend() != "tensorflow" or isinstance(search, Sampling):
        return 1
    devices = [str(device).lower() for device in keras.distribution.list_devices()]
    if not all(device.startswith("cpu") for device in devices):
        return 1
    if hasattr(os, "sched_getaffinity"):  # the cores that this process may use
        return min(len(os.sched_getaffinity(0)), MOST_WORKERS)
    return min(os.cpu_count() or 1, MOST_WORKERS)


def _results(running, most):
    """Take results out of a queue of futures until at most `most` are left."""
    while len(running) > most:
        yield running.popleft().result()
