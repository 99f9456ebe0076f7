"""The arms of the training benchmark by name."""

import functools
import importlib
from dataclasses import dataclass, field

from benchmarks.decoding_arms import catalogue as decoding
from benchmarks.side_by_side import Arm

# Arrays of a step stay with the process when they are free, in huge pages: JAX and
# PyTorch ask for them again at each step, and page faults take a fifth of it.
KEPT_MEMORY = {
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:"
    "glibc.malloc.trim_threshold=100000000000"
}
TENSORFLOW = decoding.TENSORFLOW
ONEDNN = {**TENSORFLOW, "TF_ENABLE_ONEDNN_OPTS": "1"}  # not the default everywhere
TORCH = {**decoding.TORCH, **KEPT_MEMORY}
JAX = {"KERAS_BACKEND": "jax", **KEPT_MEMORY}
FOLDER = "benchmarks.training_arms"


@dataclass(frozen=True)
class Entry:
    """How to make an arm.

    Attributes:
        factory: module and function, which makes a trainer of a `TrainingTask`.
        packages: see `Arm`.
        environment: see `Arm`.
        options: further arguments of the function.
        extra: whether it is measured only when it is named.
    """

    factory: tuple[str, str]
    packages: tuple[str, ...]
    environment: dict = field(default_factory=lambda: TENSORFLOW)
    options: dict = field(default_factory=dict)
    extra: bool = False

    def load(self):
        """Import what the arm needs, and return the function that makes its trainer.

        A trainer is called without arguments, trains on all batches of its task, and
        returns a loss.
        """
        module, name = self.factory
        module = importlib.import_module(f"{FOLDER}.{module}")
        return functools.partial(getattr(module, name), **self.options)


OURS = ("ours", "our_trainer")
KERASHUB = ("kerashub", "kerashub_trainer")
TUTORIAL = ("tutorial", "tutorial_trainer")
TORCH_MODEL = ("torch_transformer", "torch_trainer")
KERAS = ("keras", "tensorflow")
PEAK = "matrix-product"
ENTRIES = {
    PEAK: Entry(("matrix_product", "MatrixProducts"), ("numpy",)),
    "ours": Entry(OURS, KERAS),
    "ours-bfloat16": Entry(OURS, KERAS, options={"dtype": "mixed_bfloat16"}),
    "ours-onednn": Entry(OURS, KERAS, ONEDNN, extra=True),
    "ours-jax": Entry(OURS, ("keras", "jax"), JAX),
    "ours-torch": Entry(OURS, ("keras", "torch"), TORCH),
    "ours-bare": Entry(OURS, KERAS, options={"bare": True}, extra=True),
    "ours-default": Entry(OURS, KERAS, options={"attention_dropout": 0.0}, extra=True),
    "kerashub": Entry(KERASHUB, ("keras-hub", *KERAS)),
    "kerashub-jit": Entry(
        KERASHUB, ("keras-hub", *KERAS), options={"jit_compile": True}, extra=True
    ),
    "kerashub-onednn": Entry(KERASHUB, ("keras-hub", *KERAS), ONEDNN, extra=True),
    "kerashub-jax": Entry(KERASHUB, ("keras-hub", "keras", "jax"), JAX),
    "tutorial": Entry(TUTORIAL, KERAS),
    "tutorial-jit": Entry(TUTORIAL, KERAS, options={"jit_compile": True}, extra=True),
    "torch-transformer": Entry(TORCH_MODEL, ("torch",), TORCH),
    "torch-compiled": Entry(TORCH_MODEL, ("torch",), TORCH, options={"compiled": True}),
    "marian": Entry(("marian", "marian_trainer"), ("transformers", "torch"), TORCH),
}


def arm(name):
    """Return the `Arm` of an entry."""
    entry = ENTRIES[name]
    return Arm(name, entry.packages, entry.environment)
