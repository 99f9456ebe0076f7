"""The command line as a program of its own, and a small corpus for it."""

import os
import subprocess
import sys
from pathlib import Path

from tests.translators import toy_corpus

ROOT = Path(__file__).parents[2]
SMALL = [
    "--num-layers=1",
    "--hidden-dim=16",
    "--num-heads=2",
    "--intermediate-dim=24",
    "--vocabulary-size=380",
    "--tokens-per-batch=400",
]


def start(*arguments, **options):
    """Start the program; its streams are pipes unless they are given."""
    return subprocess.Popen(
        [sys.executable, "-m", "keras_transformer.cli", *map(str, arguments)],
        **{
            "cwd": ROOT,
            "env": {**os.environ, "KERAS_BACKEND": "tensorflow"},
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            **options,
        },
    )


def write_pairs(path, count=180):
    """Write pairs of the toy language, one on each line."""
    pairs = toy_corpus().train[:count]
    path.write_text(
        "".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8"
    )
    return path
