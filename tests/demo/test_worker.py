"""Calls run one after the other, and not for callers who have left."""

import asyncio
import threading

import pytest

from keras_transformer.demo.worker import Worker

pytestmark = pytest.mark.tensorflow_only


async def stays():
    await asyncio.Event().wait()


async def leaves():
    pass


@pytest.fixture
def worker():
    worker = Worker(most=3)
    yield worker
    worker.close()


@pytest.fixture
def busy(worker):
    """Keep the worker's thread in a call; the event lets it go."""
    go = threading.Event()
    running = worker.submit(go.wait, 20)
    yield go
    go.set()
    assert running.result(20)


def test_a_call_gives_what_the_function_gives(worker):
    assert asyncio.run(worker.run(stays, divmod, 7, 3)) == (2, 1)


def test_a_call_raises_what_the_function_raises(worker):
    with pytest.raises(ZeroDivisionError, match="by zero"):
        asyncio.run(worker.run(stays, divmod, 7, 0))


def test_calls_run_outside_of_the_event_loop_in_one_thread(worker):
    async def calls():
        runs = (worker.run(stays, threading.get_ident) for _ in range(3))
        return await asyncio.gather(*runs)

    threads = set(asyncio.run(calls()))
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_a_call_of_a_caller_who_has_left_never_begins(worker, busy):
    calls = []
    with pytest.raises(ConnectionAbortedError, match="has left"):
        asyncio.run(worker.run(leaves, calls.append, "left"))
    later = worker.submit(calls.append, "later")
    busy.set()
    later.result(20)
    assert calls == ["later"]


def test_too_many_calls_are_refused_and_places_come_back(worker, busy):
    waiting = [worker.submit(int) for _ in range(2)]
    with pytest.raises(BlockingIOError, match="Too many calls"):
        asyncio.run(worker.run(stays, int))
    waiting[0].cancel()
    assert worker.submit(int) is not None
    busy.set()
    assert waiting[1].result(20) == 0


def test_closing_drops_what_waits(worker, busy):
    waiting = worker.submit(int)
    worker.close()
    assert waiting.cancelled()
