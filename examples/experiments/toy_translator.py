"""A translator of the generated toy language, trained in about a minute."""

import keras

from keras_transformer import (
    GreedySearch,
    SmoothedCrossEntropy,
    TokenAccuracy,
    Transformer,
    TranslationData,
    Translator,
    corpora,
    train_tokenizer,
)

VOCABULARY = 420


def toy_corpus():
    """Return the corpus and a tokenizer of it."""
    corpus = corpora.toy()
    return corpus, train_tokenizer(corpus.train, vocabulary_size=VOCABULARY)


def toy_translator(corpus, tokenizer, *, seed, epochs=6):
    """Train a model of 2 + 2 layers with 4 heads.

    Returns:
        A greedy `Translator`.
    """
    keras.utils.set_random_seed(seed)
    data = TranslationData(corpus, tokenizer, tokens_per_batch=4096, max_length=64)
    model = Transformer(
        VOCABULARY,
        num_layers=2,
        hidden_dim=64,
        num_heads=4,
        intermediate_dim=128,
        normalize_first=True,
        seed=seed,
    )
    steps = epochs * len(data.train)
    rate = keras.optimizers.schedules.CosineDecay(
        0.0, steps, warmup_target=3e-3, warmup_steps=steps // 5
    )
    model.compile(
        keras.optimizers.Adam(rate, beta_2=0.98, epsilon=1e-9),
        loss=SmoothedCrossEntropy(0.1),
        metrics=[TokenAccuracy()],
        jit_compile=keras.backend.backend() == "jax",
    )
    model.fit(data.train, epochs=epochs, shuffle=False, verbose=2)
    return Translator(model, tokenizer, search=GreedySearch())
