"""Train a translator from English to Spanish, and export it for a model server.

On two CPU cores this takes about eleven minutes:

    python examples/translate.py

(`--pinned` for the sentences that the README's figures are of, always the same) and
about one with a small generated corpus, which needs no download and understands
its own few words only:

    python examples/translate.py --corpus toy

Sentence pairs of your own come from a file with a source, a tab and its target on each
line, some thousands at least:

    python examples/translate.py --pairs pairs.tsv
"""

import argparse
import sys
from pathlib import Path

import keras

from keras_transformer import (
    BeamSearch,
    Corpus,
    SmoothedCrossEntropy,
    TokenAccuracy,
    Transformer,
    TranslationData,
    TranslationPreview,
    Translator,
    corpora,
    read_pairs,
    train_tokenizer,
)

SENTENCES = {
    "tatoeba": [
        "Where is the station?",
        "I would like a cup of coffee.",
        "She doesn't know what to say.",
    ],
    "toy": ["The small dog sees two red houses.", "The cats do not buy the book."],
}
SIZES = {
    "tatoeba": {
        "vocabulary_size": 4000,
        "num_layers": 3,
        "hidden_dim": 128,
        "num_heads": 4,
        "intermediate_dim": 512,
    },
    "toy": {
        "vocabulary_size": 420,
        "num_layers": 2,
        "hidden_dim": 64,
        "num_heads": 4,
        "intermediate_dim": 128,
    },
}
FOLDERS = {"tatoeba": "es", "toy": "toy"}
EPOCHS = {"tatoeba": 3, "toy": 6}


def main():
    """Train, evaluate, save, export."""
    options = parse_options()
    size = SIZES[options.corpus]
    corpus = read_corpus(options)
    examples = SENTENCES[options.corpus]
    if options.pairs:
        examples = [source for source, _ in corpus.test[:3]]
    tokenizer = train_tokenizer(corpus.train, size["vocabulary_size"])
    data = TranslationData(corpus, tokenizer, tokens_per_batch=4096, max_length=64)

    model = Transformer(**size, normalize_first=True)
    model.summary()
    steps = options.epochs * len(data.train)
    rate = keras.optimizers.schedules.CosineDecay(
        0.0, steps, warmup_target=3e-3, warmup_steps=min(300, steps // 5)
    )
    model.compile(
        optimizer=keras.optimizers.Adam(rate, beta_2=0.98, epsilon=1e-9),
        loss=SmoothedCrossEntropy(0.1),
        metrics=[TokenAccuracy()],
        # With TensorFlow on a GPU each shape of batch would be compiled anew.
        jit_compile=keras.backend.backend() == "jax",
    )
    translator = Translator(model, tokenizer, search=BeamSearch(num_beams=4))
    model.fit(
        data.train,
        validation_data=data.validation,
        epochs=options.epochs,
        callbacks=[TranslationPreview(translator, examples)],
        shuffle=False,  # the data is shuffled anew for each epoch by itself
        verbose="auto" if sys.stdout.isatty() else 2,  # a log has a line an epoch
    )

    folder = options.output / (options.pairs or Path(FOLDERS[options.corpus])).stem
    translator.save(folder / "model.translator")

    print("Exporting ...")
    version = next_version(folder)
    translator.export(version)

    print("Translating held-out sentences ...")
    longest = None if options.pairs else 10
    sources, references = corpus.references("test", max_words=longest, limit=600)
    print(translator.evaluate(sources, references))
    for sentence in examples:
        print(f"{sentence} -> {translator(sentence)}")
    print(f"Saved {folder / 'model.translator'} and the served model {version}")


def read_corpus(options):
    """Read, fetch or generate the sentence pairs."""
    if options.pairs:
        corpus = Corpus.from_pairs(read_pairs(options.pairs))
        print(f"Left out: {corpus.blank} blank pairs, {corpus.duplicates} duplicates")
        return corpus
    if options.corpus == "toy":
        return corpora.toy()
    return corpora.tatoeba("es", pinned=options.pinned)


def parse_options():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", choices=list(SIZES), default="tatoeba")
    parser.add_argument("--pairs", type=Path, help="tsv file to train on instead")
    parser.add_argument("--pinned", action="store_true", help="the same copy always")
    parser.add_argument("--epochs", type=int, help="passes over the corpus")
    parser.add_argument("--output", type=Path, default=Path("models"))
    options = parser.parse_args()
    if options.pinned and (options.pairs or options.corpus != "tatoeba"):
        parser.error("--pinned is for the corpus tatoeba")
    if options.epochs is not None and options.epochs < 1:
        parser.error(f"--epochs must be at least 1. Received: {options.epochs}")
    if options.epochs is None:
        options.epochs = EPOCHS[options.corpus]
    return options


def next_version(folder):
    """Return the folder of the next version for a model server."""
    versions = [int(path.name) for path in folder.iterdir() if path.name.isdigit()]
    return folder / str(max(versions, default=0) + 1)


if __name__ == "__main__":
    main()
