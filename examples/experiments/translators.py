"""Three kinds of translators, the same sentences, the same time.

    python examples/experiments/translators.py

A recurrent model with additive attention (Bahdanau et al., 2015), a convolutional one
(Gehring et al., 2017) and the Transformer, of about as many parameters, learn English
to Spanish from Tatoeba, each for as many seconds on this machine.
"""

from functools import partial

import keras
from record import Record, new_figure
from timed_training import fit_for

from keras_transformer import (
    ConvolutionalSeq2Seq,
    GreedySearch,
    RecurrentSeq2Seq,
    SmoothedCrossEntropy,
    TokenAccuracy,
    Transformer,
    TranslationData,
    Translator,
    corpora,
    train_tokenizer,
)

VOCABULARY = {False: 4000, True: 420}  # of the quick run
SEED = 1
MODELS = {
    "recurrent": lambda size: RecurrentSeq2Seq(
        size, num_layers=1, hidden_dim=192, dropout=0.1, seed=SEED
    ),
    "convolutional": lambda size: ConvolutionalSeq2Seq(
        size, num_layers=4, hidden_dim=128, dropout=0.1, seed=SEED
    ),
    "Transformer": lambda size: Transformer(
        size, num_layers=3, hidden_dim=128, num_heads=4, intermediate_dim=512,
        normalize_first=True, seed=SEED,
    ),
}  # fmt: skip
HEADER = [
    "model",
    "parameters",
    "steps",
    "pairs/s",
    "validation loss",
    "token accuracy",
    "BLEU",
    "chrF",
]


def train(make, data, seconds):
    """Make a model, and train it for some seconds.

    Args:
        make: function that makes it.
        data: batches.
        seconds: how long.

    Returns:
        The model and its `TimeBudget`.
    """
    keras.utils.set_random_seed(SEED)
    model = make()
    model.compile(
        keras.optimizers.Adam(beta_2=0.98, epsilon=1e-9),
        loss=SmoothedCrossEntropy(0.1),
        metrics=[TokenAccuracy()],
        jit_compile=keras.backend.backend() == "jax",
    )
    return model, fit_for(model, data, seconds=seconds, rate=3e-3, shuffle=False)


def main():
    """Train, translate, compare."""
    record = Record("translators", __doc__.splitlines()[0])
    record.parser.add_argument(
        "--seconds", type=float, help="training time of each model, 150"
    )
    options = record.options()
    seconds = options.seconds or (5 if options.quick else 150)
    corpus = corpora.toy() if options.quick else corpora.tatoeba("es")
    tokenizer = train_tokenizer(corpus.train, VOCABULARY[options.quick])
    data = TranslationData(corpus, tokenizer, tokens_per_batch=4096, max_length=64)
    sources, references = corpus.references("test", max_words=10, limit=300)
    pairs = len(corpus.train) / len(data.train)  # of a batch
    rows, curves, size = [], {}, tokenizer.vocabulary_size()
    for name, make in MODELS.items():
        model, budget = train(partial(make, size), data.train, seconds)
        loss, accuracy = model.evaluate(data.validation, verbose=0)
        translator = Translator(model, tokenizer, search=GreedySearch())
        scores = translator.evaluate(sources, references)
        curves[name], speed = budget.curve, budget.steps * pairs / budget.elapsed
        figures = [f"{model.count_params():,}", str(budget.steps), f"{speed:,.0f}"]
        figures += [f"{loss:.2f}", f"{accuracy:.1%}"]
        rows.append([name, *figures, f"{scores.bleu:.1f}", f"{scores.chrf:.1f}"])
        print(*rows[-1], sep=" | ", flush=True)
    record.write(
        f"English to Spanish, {seconds:.0f} seconds of training for each model; greedy "
        f"translations of {len(sources)} held-out sentences of at most 10 words. "
        f"{scores.bleu_signature}",
        HEADER,
        rows,
        draw(curves),
        curves=curves,
    )


def draw(curves):
    """Draw the losses by time."""
    figure, (axis,) = new_figure(1, width=6)
    for name, curve in curves.items():
        axis.plot(*zip(*curve, strict=True), label=name, lw=1)
    axis.set(xlabel="seconds of training", ylabel="training loss for a token")
    axis.legend()
    return figure


if __name__ == "__main__":
    main()
