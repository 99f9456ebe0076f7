"""The versions of a model on the disk, loaded and exchanged while requests run."""

import threading
import time
from contextlib import contextmanager
from pathlib import Path

from tests.serving.c_session import CSession, RunError

NOT_FOUND = 5


class Version:
    """A loaded version, and how many requests use it."""

    def __init__(self, library, folder, config):
        self.number = int(folder.name)
        self.session = CSession(library, folder, config)
        self.users = 0


class Versions:
    """Serves the newest version below a base path, and looks for newer ones.

    A new version is loaded while the old one goes on. The old one is closed when its
    last request is done.

    Args:
        library: the `Library`.
        base: folder of the versions.
        config: a `ConfigProto` of the sessions.
        every: seconds from one look to the next.
    """

    def __init__(self, library, base, config, every=0.1):
        self.name = Path(base).name
        self._config = config
        self._library, self._base, self._every = library, Path(base), every
        self._lock = threading.Lock()
        self._newest = None
        self.failures = []
        threading.Thread(target=self._watch, daemon=True).start()

    @contextmanager
    def use(self, number=None):
        """Give the newest version, or one of a number, and keep it open."""
        with self._lock:
            version = self._newest
            if version is None or number not in (None, version.number):
                raise RunError(
                    NOT_FOUND, f"Servable not found for request: {self.name} {number}"
                )
            version.users += 1
        try:
            yield version
        finally:
            with self._lock:
                version.users -= 1
                unused = version.users == 0 and version is not self._newest
            if unused:
                version.session.close()

    def _watch(self):
        while True:
            try:
                self._look()
            except RunError as error:
                self.failures.append(str(error))
            time.sleep(self._every)

    def _look(self):
        numbers = [int(x.name) for x in self._base.iterdir() if x.name.isdigit()]
        newest = max(numbers, default=0)
        if not newest or (self._newest and newest <= self._newest.number):
            return
        version = Version(self._library, self._base / str(newest), self._config)
        with self._lock:
            before, self._newest = self._newest, version
            unused = before is not None and before.users == 0
        if unused:
            before.session.close()
