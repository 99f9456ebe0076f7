"""Requests from several threads, and how long each takes."""

import itertools
import threading
import time

import numpy as np


class RequestLoad:
    """Sends requests from threads that each wait for their answer.

    Args:
        answer: a function of a list of sentences to their translations.
        sentences: list of strings, dealt to the requests in order, again and again.
        threads: number of threads.
        requests: number of requests of each thread.
        batch: number of sentences of a request.
    """

    def __init__(self, answer, sentences, threads, requests, batch):
        self._answer = answer
        self._threads = threads
        self._count = threads * requests
        self._batch = batch
        self._lines = list(
            itertools.islice(itertools.cycle(sentences), self._count * batch)
        )

    def __call__(self):
        """Send all, and return the seconds of each and the translations.

        Returns:
            `{"latencies": [...], "translations": [...]}`, in the order of the requests.

        Raises:
            RuntimeError: if a request failed.
        """
        numbers, lock = iter(range(self._count)), threading.Lock()
        latencies, answers, errors = np.zeros(self._count), {}, []

        def work():
            while True:
                with lock:
                    number = next(numbers, None)
                if number is None or errors:
                    return
                first = number * self._batch
                start = time.perf_counter()
                try:
                    answers[number] = self._answer(
                        self._lines[first : first + self._batch]
                    )
                except Exception as error:
                    errors.append(error)
                latencies[number] = time.perf_counter() - start

        threads = [threading.Thread(target=work) for _ in range(self._threads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise RuntimeError(f"A request failed: {errors[0]!r}") from errors[0]
        texts = itertools.chain.from_iterable(answers[n] for n in range(self._count))
        return {"latencies": latencies, "translations": list(texts)}
