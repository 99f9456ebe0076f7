"""Arms of a benchmark measured in turn, and how they compare."""

import importlib.metadata
import statistics
import time
from dataclasses import dataclass, field

from benchmarks.worker import Worker, WorkerError


@dataclass(frozen=True)
class Arm:
    """One of the things that are compared.

    Attributes:
        name: what it is called in the tables.
        packages: the distributions that it needs, whose versions are reported.
        environment: variables of its process.
    """

    name: str
    packages: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)

    def missing(self):
        """Return the packages that are not installed."""
        return [name for name in self.packages if not _version(name)]

    def versions(self):
        """Return the packages' versions by name."""
        return {name: _version(name) for name in self.packages}


def _version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@dataclass
class Measured:
    """What was found of an arm.

    Attributes:
        seconds: for each measurement, the seconds of each round.
        results: for each measurement, what its last run returned.
        versions: of its packages.
        about: what the arm says of itself.
        disturbed: how many measurements stayed noisy after several attempts.
        note: why something is missing.
    """

    seconds: dict = field(default_factory=dict)
    results: dict = field(default_factory=dict)
    versions: dict = field(default_factory=dict)
    about: dict = field(default_factory=dict)
    disturbed: int = 0
    note: str = ""

    def median(self, name):
        """Return the median of the rounds, `None` if there are none."""
        return statistics.median(self.seconds[name]) if self.seconds.get(name) else None

    def ratio_to(self, other, name):
        """Return the median over rounds of own seconds by the other's."""
        own, theirs = self.seconds.get(name), other.seconds.get(name)
        if not own or not theirs:
            return None
        return statistics.median(a / b for a, b in zip(own, theirs, strict=True))


def side_by_side(arms, command, measurements, rounds, longest=120.0, kept=()):
    """Measure arms, each in a warmed process of its own, in turn.

    Args:
        arms: list of `Arm`.
        command: a function of an arm to the arguments that start its worker.
        measurements: how often each measurement runs in one round, by name.
        rounds: number of rounds.
        longest: seconds; a measurement whose warm second run takes longer is left out.
        kept: names of the measurements whose results are asked for.

    Returns:
        A `Measured` for each arm by name. One that is not installed, or fails, has
        a note and no seconds.
    """
    found = {arm.name: Measured(versions=arm.versions()) for arm in arms}
    workers = {}
    try:
        for arm in arms:
            own = found[arm.name]
            if missing := arm.missing():
                own.note = f"skipped: pip install {' '.join(missing)}"
            else:
                workers[arm.name] = Worker(command(arm), arm.environment)
                _attempt(_warm, workers, arm.name, own, measurements, longest)
            _say(arm.name, own.note or "ready")
        for name, count in measurements.items():
            for number in range(rounds):
                _say(f"{name}, round {number + 1} of {rounds}")
                for arm in list(workers):
                    if name in found[arm].seconds:
                        _attempt(_measure, workers, arm, found[arm], name, count)
        for arm in list(workers):
            _attempt(_ask_results, workers, arm, found[arm], kept)
    finally:
        for worker in workers.values():
            worker.close()
    return found


def _attempt(action, workers, name, own, *arguments):
    """Act on a worker; if that fails, note it and go on without the worker."""
    try:
        action(workers[name], own, *arguments)
    except WorkerError as error:
        own.note, own.seconds = f"failed: {error}"[:300], {}
        workers.pop(name).close()
        _say(name, own.note)


def _warm(worker, own, measurements, longest):
    own.about = worker.ask("about")
    for name in measurements:
        worker.ask(f"{name} 1")
        if worker.ask(f"{name} 1")["seconds"] <= longest:
            own.seconds[name] = []
        else:
            own.note = f"{own.note} {name} takes over {longest:.0f} s".strip()


def _measure(worker, own, name, count):
    own.seconds[name].append(worker.seconds(name, count))
    own.disturbed = worker.disturbed


def _ask_results(worker, own, kept):
    for name in kept:
        if name in own.seconds:
            own.results[name] = worker.ask(f"result {name}")["result"]


def _say(*words):
    print(time.strftime("%H:%M:%S"), *words, flush=True)
