"""An encoder that fills in masked words.

    python examples/experiments/masked_words.py

It learns from the English sentences of Tatoeba, of which each time other words are
masked, and then fills in masked words of sentences that it has not seen. To compare:
always saying the most frequent token, and a model that has seen each masked token's
neighbours only as counts (the token that stood most often behind the one before).
"""

from collections import Counter, defaultdict

import keras
import numpy as np
from record import Record, new_figure
from sentence_stream import english_sentences
from timed_training import fit_for

from keras_transformer import (
    Encoder,
    MaskedLanguageModel,
    SmoothedCrossEntropy,
    TokenAccuracy,
    TokenMasking,
    train_tokenizer,
)

LENGTH, PAD = 24, 0
SENTENCES = [
    "I would like a cup of ___.",
    "She doesn't ___ what to say.",
    "Where is the ___?",
    "The train ___ late this morning.",
    "He is taller ___ me.",
]


def encoded(sentences, tokenizer):
    """Return ids of those that are short enough, int32 (sentences, LENGTH)."""
    rows = [ids for ids in tokenizer(sentences) if 0 < len(ids) <= LENGTH]
    padded = [np.pad(np.asarray(ids), (0, LENGTH - len(ids))) for ids in rows]
    return np.array(padded, "int32")


class Masked(keras.utils.PyDataset):
    """Batches with other tokens masked each time.

    Args:
        ids: int32 (sentences, LENGTH).
        masking: a `TokenMasking`.
        size: sentences of a batch.
    """

    def __init__(self, ids, masking, size=128):
        super().__init__()
        self.ids, self.masking, self.size = ids, masking, size
        self.random = np.random.default_rng(0)

    def __len__(self):
        """Number of batches in an epoch."""
        return len(self.ids) // self.size

    def __getitem__(self, index):
        """Draw a batch."""
        return self.masking(self.ids[self.random.integers(0, len(self.ids), self.size)])


def neighbour_counts(ids):
    """Count what follows each token, and return the most frequent one by token."""
    follows, all_of = defaultdict(Counter), Counter()
    for row in ids:
        real = row[row != PAD]
        all_of.update(real.tolist())
        for before, after in zip(real[:-1].tolist(), real[1:].tolist(), strict=True):
            follows[before][after] += 1
    best = {token: counts.most_common(1)[0][0] for token, counts in follows.items()}
    return best, all_of.most_common(1)[0][0]


def right_answers(model, inputs, labels, best, usual):
    """Shares of masked tokens that the model, the neighbour and the usual token hit."""
    chosen = labels != PAD
    logits = [model.predict_on_batch(part) for part in np.array_split(inputs, 20)]
    answers = np.concatenate([part.argmax(axis=-1) for part in logits])
    before = np.concatenate([np.zeros_like(inputs[:, :1]), inputs[:, :-1]], axis=1)
    guesses = np.vectorize(lambda token: best.get(token, usual))(before)
    return [
        float(np.mean(guess[chosen] == labels[chosen]))
        for guess in (answers, guesses, np.full_like(labels, usual))
    ]


def filled(model, tokenizer, sentence, mask_id):
    """Return the three likeliest tokens for the gap of a sentence."""
    before, after = sentence.split("___")
    before, after = (tokenizer.tokenize(part.strip()) for part in (before, after))
    ids = [*np.asarray(before), mask_id, *np.asarray(after)]
    logits = model.predict_on_batch(np.array([ids], "int32"))[0, len(before)]
    return [tokenizer.id_to_token(int(token)) for token in np.argsort(-logits)[:3]]


def main():
    """Train, fill in, compare."""
    record = Record("masked_words", __doc__.splitlines()[0])
    record.parser.add_argument("--seconds", type=float, help="training time, 240")
    options = record.options()
    seconds = options.seconds or (5 if options.quick else 240)
    train_sentences, held_out = english_sentences(options.quick)
    size = 300 if options.quick else 4000
    tokenizer = train_tokenizer(train_sentences, size)
    # Rare characters are written as bytes, so that the unknown token is free.
    mask_id = tokenizer.token_to_id("<unk>")
    ids, unseen = encoded(train_sentences, tokenizer), encoded(held_out, tokenizer)
    special = [tokenizer.token_to_id(token) for token in ("<s>", "</s>")]
    masking = TokenMasking(size, mask_id, pad_id=PAD, special_ids=special, seed=1)

    keras.utils.set_random_seed(1)
    encoder = Encoder(
        size, num_layers=3, hidden_dim=128, num_heads=4, intermediate_dim=512,
        max_length=LENGTH, normalize_first=True, scale_embeddings=True,
        layer_norm_epsilon=1e-5, seed=1,
    )  # fmt: skip
    model = MaskedLanguageModel(encoder)
    model.compile(
        keras.optimizers.Adam(beta_2=0.98),
        loss=SmoothedCrossEntropy(0.0),
        metrics=[TokenAccuracy()],
        jit_compile=keras.backend.backend() == "jax",
    )
    budget = fit_for(model, Masked(ids, masking), seconds=seconds, rate=2e-3)

    judged = TokenMasking(size, mask_id, pad_id=PAD, special_ids=special, seed=2)
    shares = right_answers(model, *judged(unseen), *neighbour_counts(ids))
    names = (
        f"encoder, {budget.steps} steps",
        "the token before, counted",
        "most frequent",
    )
    rows = [[name, f"{share:.1%}"] for name, share in zip(names, shares, strict=True)]
    if not options.quick:
        for sentence in SENTENCES:
            words = filled(model, tokenizer, sentence, mask_id)
            rows.append([sentence, ", ".join(f"`{word}`" for word in words)])
    figure, (axis,) = new_figure(1, width=6)
    axis.plot(*zip(*budget.curve, strict=True), lw=1)
    axis.set(xlabel="seconds of training", ylabel="loss for a masked token")
    record.write(
        f"Masked tokens of {len(unseen)} held-out sentences: right answers; and the "
        "three likeliest tokens for gaps (a space is written `▁`).",
        ["who, or which gap", "right answers, or tokens"],
        rows,
        figure,
        curve=budget.curve,
    )


if __name__ == "__main__":
    main()
