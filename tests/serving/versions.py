"""The versions of a model on the disk, loaded and exchanged while requests run."""

import threading
import time
from contextlib import contextmanager
from pathlib import Path

from tests.serving.c_session import CSession, RunError
from tests.serving.messages import array_of

NOT_FOUND = 5


class Version:
    """A loaded version that has answered its warm-up requests, and its users."""

    def __init__(self, library, folder, config):
        self.number = int(folder.name)
        self.session = CSession(library, folder, config)
        self.users = 0
        for request in warm_up_requests(folder):
            inputs = {name: array_of(tensor) for name, tensor in request.inputs.items()}
            self.session.run(request.model_spec.signature_name, inputs)


def warm_up_requests(folder):
    """Read the records that a server runs before it offers a version.

    A record of a `TFRecord` file is its size in 8 bytes, their checksum in 4, the
    content and its checksum in 4.
    """
    from tensorflow_serving.apis import prediction_log_pb2

    file = folder / "assets.extra" / "tf_serving_warmup_requests"
    data, place = file.read_bytes() if file.exists() else b"", 0
    while place < len(data):
        size = int.from_bytes(data[place : place + 8], "little")
        record = data[place + 12 : place + 12 + size]
        log = prediction_log_pb2.PredictionLog.FromString(record)
        yield log.predict_log.request
        place += 16 + size


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
