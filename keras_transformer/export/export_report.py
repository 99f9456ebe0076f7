"""What a check of an exported folder has found."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class TensorReport:
    """An input or output of a signature.

    Attributes:
        name: its key in a request or answer.
        dtype: name of its dtype.
        shape: its sizes, `None` where any will do; `None` as a whole if not even their
            number is known.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None

    def __str__(self):
        """Return it as `text: string (batch,)`."""
        if self.shape is None:
            return f"{self.name}: {self.dtype}, any shape"
        sizes = ["?" if size is None else str(size) for size in self.shape]
        if self.shape and self.shape[0] is None:
            sizes[0] = "batch"
        comma = "," if len(sizes) == 1 else ""
        return f"{self.name}: {self.dtype} ({', '.join(sizes)}{comma})"


@dataclass(frozen=True)
class SignatureReport:
    """A function that a server offers.

    Attributes:
        inputs: `TensorReport` of each input.
        outputs: `TensorReport` of each output.
    """

    inputs: list[TensorReport]
    outputs: list[TensorReport]


@dataclass(frozen=True)
class WarmUpReport:
    """A request that a server answers when it loads the version.

    Attributes:
        signature: name of the signature.
        inputs: `TensorReport` of each input that it gives.
    """

    signature: str
    inputs: list[TensorReport]


@dataclass(frozen=True)
class ExportReport:
    """What a version on the disk offers and needs.

    Attributes:
        path: folder of the version.
        tensorflow: version of TensorFlow that wrote it; a server should be as new.
        signatures: `SignatureReport` by name.
        operations: for each library that a server must have, the names of its
            operations in the graph and its functions.
        warm_up: the warm-up requests.
        bytes: size of all files.
        weight_bytes: size of the variables in it.
        problems: what a server would refuse, or answer wrongly, each in a sentence.
    """

    path: Path
    tensorflow: str
    signatures: dict[str, SignatureReport]
    operations: dict[str, list[str]]
    warm_up: list[WarmUpReport]
    bytes: int
    weight_bytes: int
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self):
        """Whether nothing was found that a server would refuse."""
        return not self.problems

    def __str__(self):
        """Return the report as people read it."""
        lines = [f"{self.path}, written by TensorFlow {self.tensorflow}"]
        for name, signature in sorted(self.signatures.items()):
            lines.append(f"  signature {name}")
            lines += [f"    takes {tensor}" for tensor in signature.inputs]
            lines += [f"    gives {tensor}" for tensor in signature.outputs]
        for library, names in self.operations.items():
            shown = "" if library == "TensorFlow" else f" ({', '.join(names)})"
            lines.append(f"  operations of {library}: {len(names)}{shown}")
        names = sorted({request.signature for request in self.warm_up})
        lines.append(f"  warm-up requests: {len(self.warm_up)}" + _of(names))
        sizes = (f"{size / 1e6:.1f} MB" for size in (self.bytes, self.weight_bytes))
        lines.append("  {} on the disk, {} of them weights".format(*sizes))
        lines += [f"  PROBLEM: {problem}" for problem in self.problems]
        return "\n".join(lines)


def _of(names):
    return f" of {', '.join(names)}" if names else ""
