"""A process of its own for each arm, spoken to over pipes.

The parent writes a line such as `greedy 3`: run the measurement `greedy` three times.
The answer is one line of JSON, `{"seconds": 0.1}` with the median. `result greedy`
asks for what the last run returned, `about` for what the arm says of itself.
"""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from typing import Any

import numpy as np

from benchmarks.quiet import OtherLoad

LOUD = 0.1  # share of the cores that others may use in a measurement
ATTEMPTS = 5


class WorkerError(RuntimeError):
    """An arm could not do what it was asked."""


class Worker:
    """The parent's end: starts a process and measures in it.

    Args:
        command: list of arguments after the interpreter.
        environment: variables to set besides this process's own.

    Raises:
        WorkerError: from any method, if the process failed.
    """

    def __init__(self, command: list[str], environment: dict[str, str]):
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with it
        self._process: Any = subprocess.Popen(
            [sys.executable, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
        )
        self.disturbed = 0

    def seconds(self, name, count=1):
        """Run a measurement; again while others keep the cores busy."""
        found = []
        for _ in range(ATTEMPTS):
            load = OtherLoad(self._process.pid)
            seconds = self.ask(f"{name} {count}")["seconds"]
            found.append((load.share(), seconds))
            if found[-1][0] <= LOUD:
                return seconds
        self.disturbed += 1
        return min(found)[1]

    def ask(self, line):
        """Send a line, and return the answer."""
        try:
            print(line, file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        reply = json.loads(answer) if answer else {"error": self._last_words()}
        if "error" in reply:
            raise WorkerError(reply["error"])
        return reply

    def close(self):
        """End the process."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def _last_words(self):
        self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"ended with {self._process.returncode}"


def serve(start):
    """The child's end: answer lines until there are no more.

    What libraries print goes to the errors, so that it is not taken for an answer.

    Args:
        start: called once; returns `(measurements, about)`: functions by name, each
            without arguments, and a dictionary.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    measurements, about = start()
    results = {}
    for line in sys.stdin:
        try:
            reply = _answer(line.split(), measurements, about, results)
        except Exception as error:
            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply, default=np.ndarray.tolist), file=answers, flush=True)


def _answer(words, measurements, about, results):
    if words == ["about"]:
        return about
    if words[0] == "result":
        return {"result": results[words[1]]}
    name, count = words[0], int(words[1])
    seconds = []
    for _ in range(count):
        start = time.perf_counter()
        results[name] = measurements[name]()
        seconds.append(time.perf_counter() - start)
    return {"seconds": statistics.median(seconds)}
