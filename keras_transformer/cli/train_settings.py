"""All that decides a training run."""

import dataclasses
from pathlib import Path

from keras_transformer.cli.data_choice import check_data
from keras_transformer.cli.model_sizes import SIZES
from keras_transformer.cli.setting import check_range, checked_value, setting

DATA = "Data"
MODEL = "Model"
TRAINING = "Training"
RUN = "Run"
TRANSLATOR = "The translator that is saved"

# What may change from one call to the next without changing what is learnt.
FREE = (
    "output",
    "checkpoint_every",
    "preview",
    "num_beams",
    "length_penalty",
    "max_translation_length",
)


@dataclasses.dataclass(frozen=True)
class TrainSettings:
    """Settings of `train`, each an option and a key of `run.yaml`.

    Raises:
        ValueError: for a value out of range, or settings that exclude each other.
    """

    pairs: Path | None = setting(
        None, DATA, "Source, tab and target on each line; .gz too.", metavar="FILE"
    )
    source: Path | None = setting(
        None, DATA, "Sources, one on each line, with --target.", metavar="FILE"
    )
    target: Path | None = setting(None, DATA, "Their targets.", metavar="FILE")
    corpus: str | None = setting(
        None,
        DATA,
        "toy, small and generated; or tatoeba:es, English to Spanish, and other codes.",
        metavar="NAME",
    )
    validation_pairs: Path | None = setting(
        None, DATA, "Pairs to watch while training.", metavar="FILE"
    )
    validation_source: Path | None = setting(
        None, DATA, "The same as two files.", metavar="FILE"
    )
    validation_target: Path | None = setting(
        None, DATA, "Their targets.", metavar="FILE"
    )
    held_out: float | None = setting(
        None,
        DATA,
        "Share of the pairs kept for validation, and as much again for a test, where "
        "no validation files are given; 0.01 if not given, 0.05 of toy.",
        metavar="SHARE",
        at_least=0,
    )
    max_length: int = setting(
        128,
        DATA,
        "Longest side in tokens; longer pairs are left out and counted.",
        metavar="N",
        at_least=2,
    )
    size: str = setting(
        "tiny", MODEL, "Widths and layers by name", choices=tuple(SIZES)
    )
    vocabulary_size: int | None = setting(
        None,
        MODEL,
        "Pieces of the tokenizer; 8000 if not given, or as many as the text has.",
        metavar="N",
        at_least=5,
    )
    num_layers: int | None = setting(
        None, MODEL, "Blocks on each side.", metavar="N", at_least=1
    )
    hidden_dim: int | None = setting(
        None, MODEL, "Width of the model.", metavar="N", at_least=1
    )
    num_heads: int | None = setting(
        None, MODEL, "Heads of each attention.", metavar="N", at_least=1
    )
    intermediate_dim: int | None = setting(
        None, MODEL, "Inner width of the blocks.", metavar="N", at_least=1
    )
    dropout: float | None = setting(
        None, MODEL, "Share that is dropped out.", metavar="SHARE", at_least=0
    )
    epochs: int | None = setting(
        None,
        TRAINING,
        "Passes over the pairs; 10 if neither they nor steps are given.",
        metavar="N",
        at_least=1,
    )
    steps: int | None = setting(
        None, TRAINING, "Steps of the optimizer instead.", metavar="N", at_least=1
    )
    tokens_per_batch: int = setting(
        4096,
        TRAINING,
        "Source and target tokens of a batch, with padding.",
        metavar="N",
        at_least=2,
    )
    learning_rate: float | None = setting(
        None,
        TRAINING,
        "Highest learning rate; the size's own if not given.",
        metavar="RATE",
        at_least=0,
    )
    schedule: str = setting(
        "cosine",
        TRAINING,
        "How it falls after the rise: to 0 at the end, or as in the paper",
        choices=("cosine", "inverse-sqrt"),
    )
    warmup_steps: int | None = setting(
        None,
        TRAINING,
        "Steps of its rise; a tenth of all, 4000 at most, if not given.",
        metavar="N",
        at_least=1,
    )
    label_smoothing: float = setting(
        0.1,
        TRAINING,
        "Share of probability spread over the vocabulary.",
        metavar="SHARE",
        at_least=0,
    )
    average_last: int = setting(
        1,
        TRAINING,
        "Epochs whose weights are averaged at the end; 1 is none.",
        metavar="N",
        at_least=1,
    )
    precision: str = setting(
        "float32",
        TRAINING,
        "Of the computation; weights are float32",
        choices=("float32", "bfloat16", "float16"),
    )
    seed: int = setting(
        0, TRAINING, "Decides all that is drawn.", metavar="N", at_least=0
    )
    num_beams: int = setting(
        4, TRANSLATOR, "Beams of its search; 1 is greedy.", metavar="N", at_least=1
    )
    length_penalty: float = setting(
        0.6, TRANSLATOR, "Favours long translations; 0 is none.", metavar="ALPHA"
    )
    max_translation_length: int = setting(
        256, TRANSLATOR, "Longest translation in tokens.", metavar="N", at_least=1
    )
    output: Path = setting(Path("models/run"), RUN, "Folder of the run.", metavar="DIR")
    checkpoint_every: int = setting(
        1000,
        RUN,
        "Steps between checkpoints within an epoch; each epoch ends with one too.",
        metavar="N",
        at_least=1,
    )
    preview: int = setting(
        3,
        RUN,
        "Sentences to translate after each epoch; 0 for none.",
        metavar="N",
        at_least=0,
    )

    def __post_init__(self):
        """Check each setting, and those that exclude each other."""
        for field in dataclasses.fields(self):
            value = checked_value(field, getattr(self, field.name))
            check_range(field, value)
            object.__setattr__(self, field.name, value)
        check_data(self)
        if self.epochs is not None and self.steps is not None:
            raise ValueError(
                "`epochs` and `steps` exclude each other. "
                f"Received: {self.epochs} and {self.steps}."
            )

    def resolved(self):
        """Return the same settings with what a size decides, and full file names."""
        size = {
            name: value
            for name, value in SIZES[self.size].items()
            if getattr(self, name) is None
        }
        paths = {
            field.name: Path(value).resolve()
            for field in dataclasses.fields(self)
            if isinstance(value := getattr(self, field.name), Path)
        }
        epochs = 10 if self.epochs is None and self.steps is None else self.epochs
        return dataclasses.replace(self, **size, **paths, epochs=epochs)
