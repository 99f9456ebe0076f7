"""Published settings of translation models, each a function that returns a `Recipe`.

`tokens_per_batch` counts source and target positions with their padding, as
`TranslationData` does. Where a paper counts one side, the recipe has twice its number.
"""

from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Recipe:
    """All that decides a training run but the data.

    Attributes:
        model: options of `Transformer` but the vocabulary's size.
        vocabulary_size: size of the tokenizer, trained on both languages.
        tokens_per_batch: source and target positions of a batch.
        schedule_scale: factor of `InverseSqrtSchedule`.
        warmup_steps: steps of its rise.
        label_smoothing: share of probability spread over the vocabulary.
        epochs: passes over the corpus, or `None` if `steps` decides.
        steps: optimizer steps, or `None` if `epochs` decides.
        patience: epochs of `fit` without a lower validation loss after which training
            ends, or `None` to train to the end.
        average_last: number of weights in the mean that translates.
        average_every: `"epoch"`, or steps from one of them to the next.
        beam: number of beams.
        alpha: length penalty of the search.
        max_length: longest source or target, in tokens; longer pairs are left out.
        tokenizer: options of `train_tokenizer`.
    """

    model: dict[str, Any]
    vocabulary_size: int
    tokens_per_batch: int
    warmup_steps: int
    schedule_scale: float = 1.0
    label_smoothing: float = 0.1
    epochs: int | None = None
    steps: int | None = None
    patience: int | None = None
    average_last: int = 5
    average_every: int | str = "epoch"
    beam: int = 4
    alpha: float = 0.6
    max_length: int = 128
    tokenizer: dict[str, Any] = field(default_factory=dict)

    def scaled(self, scale):
        """Return a recipe with widths, vocabulary and batches `scale` times as large.

        Layers and heads stay as they are; a width is a multiple of twice the heads.
        """
        unit = 2 * self.model["num_heads"]
        model = {
            **self.model,
            **{
                name: max(round(self.model[name] * scale / unit), 1) * unit
                for name in ("hidden_dim", "intermediate_dim")
            },
        }
        return replace(
            self,
            model=model,
            vocabulary_size=max(round(self.vocabulary_size * scale), 400),
            tokens_per_batch=max(
                round(self.tokens_per_batch * scale), 2 * self.max_length
            ),
        )


def multi30k_tiny():
    """English to German captions, 29,000 pairs, in a model of 2.6M parameters.

    Wu et al., 2021, "Good for Misconceived Reasons: An Empirical Revisiting on the Need
    for Visual Context in Multimodal Machine Translation": their Transformer-Tiny for
    text alone has a tokenised BLEU of 41.02 on the Flickr test set of 2016. Their
    batches are those of two GPUs with 4,096 tokens on each, and they stop when
    validation has not improved for 10 epochs, after 8,000 updates at most. Their search
    divides by the length; the length penalty here was chosen on the validation set.
    """
    return Recipe(
        model=size(4, 128, 4, 256, dropout=0.3),
        vocabulary_size=10_000,
        tokens_per_batch=16_384,
        warmup_steps=2000,
        schedule_scale=2.53,  # a peak of 0.005
        steps=8000,
        patience=10,
        average_last=10,
        beam=5,
        alpha=1.5,
        tokenizer={"normalization": "identity"},
    )


def tatoeba_small():
    """Short English sentences to Spanish, as `translate.py` trains in minutes on a CPU.

    Not of a paper. `translate.py` has a cosine schedule; this one has the same peak.
    """
    return Recipe(
        model=size(3, 128, 4, 512, dropout=0.1, normalize_first=True),
        vocabulary_size=4000,
        tokens_per_batch=4096,
        warmup_steps=300,
        schedule_scale=0.588,  # a peak of 0.003
        epochs=3,
        average_last=1,
        max_length=64,
    )


def iwslt14():
    """German to English talks, 160,000 pairs: the size often used for them.

    Wu et al., 2019, "Pay Less Attention with Lightweight and Dynamic Convolutions":
    their Transformer has a tokenised, lowercased BLEU of 34.4. fairseq's example trains
    this size with Adam, a weight decay of 0.0001, and a vocabulary for each language;
    here is one for both and no decay.
    """
    return Recipe(
        model=size(6, 512, 4, 1024, dropout=0.3),
        vocabulary_size=10_000,
        tokens_per_batch=8192,
        warmup_steps=4000,
        schedule_scale=0.716,  # a peak of 0.0005
        epochs=50,
        average_last=10,
        beam=5,
        alpha=1.0,
        max_length=256,
        tokenizer={"normalization": "identity"},
    )


def wmt14_base():
    """English to German, 4.5 million pairs, in the base model of the paper.

    Vaswani et al., 2017, "Attention Is All You Need", tables 2 and 3 and section 6.1: a
    BLEU of 27.3 on newstest2014. Checkpoints are ten minutes apart, at 0.4 seconds a
    step on eight P100.
    """
    return Recipe(
        model=size(6, 512, 8, 2048, dropout=0.1),
        vocabulary_size=37_000,
        tokens_per_batch=50_000,
        warmup_steps=4000,
        steps=100_000,
        average_last=5,
        average_every=1500,
        max_length=256,
        tokenizer={"normalization": "identity"},
    )


def wmt14_big():
    """English to German, 4.5 million pairs, in the big model of the paper.

    Vaswani et al., 2017, "Attention Is All You Need", tables 2 and 3 and section 6.1: a
    BLEU of 28.4 on newstest2014. Checkpoints are ten minutes apart, at one second a
    step on eight P100.
    """
    return Recipe(
        model=size(6, 1024, 16, 4096, dropout=0.3),
        vocabulary_size=37_000,
        tokens_per_batch=50_000,
        warmup_steps=4000,
        steps=300_000,
        average_last=20,
        average_every=600,
        max_length=256,
        tokenizer={"normalization": "identity"},
    )


def size(layers, width, heads, inner, **options):
    """Options of `Transformer` for a number of layers on both sides and its widths."""
    return {
        "num_layers": layers,
        "hidden_dim": width,
        "num_heads": heads,
        "intermediate_dim": inner,
        "tie_embeddings": "all",
        **options,
    }


RECIPES = {
    recipe.__name__: recipe
    for recipe in (multi30k_tiny, tatoeba_small, iwslt14, wmt14_base, wmt14_big)
}
