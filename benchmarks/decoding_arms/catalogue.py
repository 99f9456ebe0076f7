"""The arms of the decoding benchmark by name."""

import importlib
from dataclasses import dataclass, field

from benchmarks.quiet import core_count
from benchmarks.side_by_side import Arm

TENSORFLOW = {"KERAS_BACKEND": "tensorflow"}
TORCH = {"KERAS_BACKEND": "torch", "OMP_NUM_THREADS": str(core_count())}
FOLDER = "benchmarks.decoding_arms"


@dataclass(frozen=True)
class Entry:
    """How to make an arm, and what it may be compared in.

    Attributes:
        factory: module and class, which is made of a `DecodingTask`.
        packages: see `Arm`.
        environment: see `Arm`.
        options: further arguments of the class.
        same_weights: whether its ids should be those of the other arms.
    """

    factory: tuple[str, str]
    packages: tuple[str, ...]
    environment: dict = field(default_factory=lambda: TENSORFLOW)
    options: dict = field(default_factory=dict)
    same_weights: bool = True

    def decoder(self, task):
        """Make the decoder: called with batches and beams, it returns ids."""
        module, name = self.factory
        module = importlib.import_module(f"{FOLDER}.{module}")
        return getattr(module, name)(task, **self.options)


OURS = ("ours", "OurDecoder")
CTRANSLATE2 = ("ctranslate2_peer", "CTranslate2Decoder")
KERASHUB = ("kerashub", "KerasHubDecoder")
KERAS = ("keras", "tensorflow")
ENTRIES = {
    "ours": Entry(OURS, KERAS),
    "ours-jax": Entry(OURS, ("keras", "jax"), {"KERAS_BACKEND": "jax"}),
    "ours-torch": Entry(OURS, ("keras", "torch"), TORCH),
    "ctranslate2": Entry(
        CTRANSLATE2, ("ctranslate2",), options={"compute_type": "float32"}
    ),
    "ctranslate2-int8": Entry(
        CTRANSLATE2, ("ctranslate2",), options={"compute_type": "int8"}
    ),
    "marian": Entry(("marian", "MarianDecoder"), ("transformers", "torch"), TORCH),
    "kerashub-jit": Entry(
        KERASHUB,
        ("keras-hub", *KERAS),
        options={"compiled": True},
        same_weights=False,
    ),
    "kerashub-cached": Entry(
        KERASHUB,
        ("keras-hub", *KERAS),
        options={"compiled": False},
        same_weights=False,
    ),
    "tutorial": Entry(("tutorial", "TutorialDecoder"), KERAS),
}


def arm(name):
    """Return the `Arm` of an entry."""
    entry = ENTRIES[name]
    return Arm(name, entry.packages, entry.environment)
