"""A small language model that writes.

    python examples/experiments/small_language_model.py

A decoder by itself learns the English sentences of Tatoeba, token by token, and then
goes on from some beginnings: by sampling, and by beam search. To compare: the same
tokens by their frequency, and by what stood behind the token before.
"""

import keras
import numpy as np
from record import Record, new_figure
from sentence_stream import english_sentences
from timed_training import fit_for

from keras_transformer import (
    BeamSearch,
    LanguageModel,
    RotaryEmbedding,
    Sampling,
    SmoothedCrossEntropy,
    train_tokenizer,
)
from keras_transformer.decoding import ContinuationGenerator

LENGTH, END, START = 24, 1, 2
BEGINNINGS = ["I would like", "She doesn't", "Where is", "My brother", "It is"]


def encoded(sentences, tokenizer):
    """Return ids with start and end, int32 (sentences, LENGTH + 1), padded with 0."""
    rows = [
        [START, *np.asarray(ids), END]
        for ids in tokenizer(sentences)
        if 0 < len(ids) < LENGTH
    ]
    return np.array([np.pad(row, (0, LENGTH + 1 - len(row))) for row in rows], "int32")


def counted_losses(ids, unseen, size):
    """Bits for each token by frequency, and by the token before (with some of it)."""
    pairs = np.stack([ids[:, :-1].ravel(), ids[:, 1:].ravel()])
    pairs = pairs[:, pairs[1] != 0]
    single = np.bincount(pairs[1], minlength=size) + 0.1
    single = single / single.sum()
    table = np.zeros((size, size), "float32")
    np.add.at(table, tuple(pairs), 1.0)
    seen = table.sum(axis=1, keepdims=True)
    table = (table + 20 * single) / (seen + 20)  # rare rows lean on the frequency
    before, after = unseen[:, :-1].ravel(), unseen[:, 1:].ravel()
    real = after != 0
    before, after = before[real], after[real]
    return [float(-np.mean(np.log2(p))) for p in (single[after], table[before, after])]


def write(model, tokenizer, search):
    """Go on from the beginnings."""
    prompts = [[START, *np.asarray(tokenizer.tokenize(text))] for text in BEGINNINGS]
    width = max(map(len, prompts))
    ids = np.array([np.pad(row, (0, width - len(row))) for row in prompts], "int32")
    generator = ContinuationGenerator(model, search, max_new_tokens=LENGTH)
    result = generator.predict_on_batch(ids)["ids"][:, 0]
    texts = []
    for prompt, new in zip(prompts, result, strict=True):
        whole = [int(token) for token in [*prompt[1:], *new] if token > END]
        texts.append(tokenizer.detokenize(whole))
    return texts


def main():
    """Train, write, compare."""
    record = Record("small_language_model", __doc__.splitlines()[0])
    record.parser.add_argument("--seconds", type=float, help="training time, 240")
    options = record.options()
    seconds = options.seconds or (5 if options.quick else 240)
    train_sentences, held_out = english_sentences(options.quick)
    size = 300 if options.quick else 4000
    tokenizer = train_tokenizer(train_sentences, size)
    ids, unseen = encoded(train_sentences, tokenizer), encoded(held_out, tokenizer)

    keras.utils.set_random_seed(1)
    model = LanguageModel(
        size, num_layers=3, hidden_dim=128, num_heads=4, intermediate_dim=344,
        activation="swiglu", normalization="rms", use_bias=False, end_id=END,
        position=RotaryEmbedding(), scale_embeddings=True, seed=1,
    )  # fmt: skip
    model.compile(
        keras.optimizers.Adam(beta_2=0.98),
        loss=SmoothedCrossEntropy(0.0),
        jit_compile=keras.backend.backend() == "jax",
    )
    pieces = ids[:, :-1], ids[:, 1:]
    budget = fit_for(model, *pieces, seconds=seconds, rate=2e-3, batch_size=128)

    loss = model.evaluate(unseen[:, :-1], unseen[:, 1:], verbose=0) / np.log(2)
    names = f"language model, {budget.steps} steps", "frequency", "the token before"
    found = [float(loss), *counted_losses(ids, unseen, size)]
    rows = [[name, f"{bits:.2f}"] for name, bits in zip(names, found, strict=True)]
    searches = {
        "sampled": Sampling(temperature=0.8, top_p=0.95, seed=3),
        "4 beams": BeamSearch(num_beams=4),
    }
    for name, search in searches.items():
        rows += [[name, text] for text in write(model, tokenizer, search)]
    figure, (axis,) = new_figure(1, width=6)
    seconds_of, losses = zip(*budget.curve, strict=True)
    axis.plot(seconds_of, np.array(losses) / np.log(2), lw=1, label="training")
    for name, bits, style in zip(names[1:], found[1:], (":", "--"), strict=True):
        axis.axhline(bits, ls=style, color="gray", label=f"{name}, counted")
    axis.set(xlabel="seconds of training", ylabel="bits for a token")
    axis.legend()
    record.write(
        f"Bits for each token of {len(unseen)} held-out sentences; and what the model "
        f"writes from the beginnings {', '.join(BEGINNINGS)}.",
        ["what", "bits, or text"],
        rows,
        figure,
        curve=budget.curve,
    )


if __name__ == "__main__":
    main()
