"""Calls that run one after the other, outside of the event loop."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor


class Worker:
    """Run calls in a thread of its own, in the order in which they came.

    A model's calls take long and are not made to run side by side, so there is one
    thread for all visitors.

    Args:
        most: largest number of calls that wait or run at a time.
    """

    def __init__(self, most=32):
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="translator")
        self._places = threading.BoundedSemaphore(most)

    async def run(self, left, function, *arguments):
        """Run a call, unless its caller leaves first.

        Args:
            left: a function without arguments that gives a coroutine, which ends when
                the caller has left.
            function: what to call.
            *arguments: its arguments.

        Returns:
            What the function returns.

        Raises:
            BlockingIOError: if too many calls are waiting.
            ConnectionAbortedError: if the caller has left. A call that has not begun
                by then never does.
        """
        answer = asyncio.wrap_future(self.submit(function, *arguments))
        leaving = asyncio.ensure_future(left())
        try:
            await asyncio.wait({answer, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise ConnectionAbortedError("The caller has left.")
            return answer.result()
        finally:
            answer.cancel()
            leaving.cancel()

    def submit(self, function, *arguments):
        """Put a call into the queue and return its `concurrent.futures.Future`."""
        if not self._places.acquire(blocking=False):
            raise BlockingIOError("Too many calls are waiting.")
        future = self._thread.submit(function, *arguments)
        future.add_done_callback(lambda _: self._places.release())
        return future

    def close(self):
        """Drop the calls that wait. One that runs comes to its end."""
        self._thread.shutdown(wait=False, cancel_futures=True)
