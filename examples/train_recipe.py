"""Train a translator by a published recipe on a folder of parallel text.

The folder holds `train`, `val` and a test set, each as two files of as many lines, such
as `train.en` and `train.de`, or `train.en.gz` and `train.de.gz`:

    python examples/train_recipe.py multi30k_tiny --data multi30k

An interrupted run goes on where it was when it is called again. The first steps of a
large recipe run on a laptop too, with widths and batches scaled down:

    python examples/train_recipe.py wmt14_base --data wmt14 --test newstest2014 \
        --steps 100 --scale 0.1 --output models/try
"""

import argparse
import math
from pathlib import Path

import keras
from parallel_text import read_corpus, tokenizer_of
from recipes import RECIPES
from run_log import CurveLog, StopWithoutGain

from keras_transformer import (
    BeamSearch,
    BleuCallback,
    CheckpointAveraging,
    GreedySearch,
    InverseSqrtSchedule,
    SmoothedCrossEntropy,
    TokenAccuracy,
    TrainingBackup,
    Transformer,
    TranslationData,
    Translator,
)


def main():
    """Train, evaluate, save."""
    options = parse_options()
    recipe = RECIPES[options.recipe]()
    if options.scale != 1:
        recipe = recipe.scaled(options.scale)
    if options.bfloat16:
        keras.mixed_precision.set_global_policy("mixed_bfloat16")
    keras.utils.set_random_seed(options.seed)
    log = CurveLog(options, recipe)

    endings = options.source, options.target
    corpus = read_corpus(options.data, ("train", "val", options.test), endings)
    file = options.output / "tokenizer.spm"
    if not log.file.exists():  # nothing says what an older one was trained on
        file.unlink(missing_ok=True)
    tokenizer = tokenizer_of(corpus, recipe, file)
    data = TranslationData(
        corpus,
        tokenizer,
        tokens_per_batch=recipe.tokens_per_batch,
        max_length=recipe.max_length,
        max_shapes=options.max_shapes or None,
        seed=options.seed,
    )
    model = Transformer(recipe.vocabulary_size, **recipe.model)
    compile_model(model, recipe, options.jit)
    print(
        f"{model.count_params():,} parameters, {len(data.train)} batches an epoch, "
        f"{len(data.shapes)} shapes, {data.padding_share:.1%} padding"
    )
    fit(model, data, corpus, tokenizer, recipe, options, log)

    print("Translating the test set ...")
    search = BeamSearch(num_beams=recipe.beam, length_penalty=recipe.alpha)
    translator = Translator(model, tokenizer, search=search)
    translator.save(options.output / "model.translator")
    scores = translator.evaluate(list(corpus.test), tokenize=options.tokenize)
    log.write(test={"set": options.test, **scores.to_dict()})
    print(scores)
    print(f"All of the run is in {options.output}")


def compile_model(model, recipe, jit_compile):
    """Compile with the paper's optimizer and the recipe's schedule."""
    rate = InverseSqrtSchedule(
        recipe.model["hidden_dim"], recipe.warmup_steps, scale=recipe.schedule_scale
    )
    model.compile(
        optimizer=keras.optimizers.Adam(rate, beta_2=0.98, epsilon=1e-9),
        loss=SmoothedCrossEntropy(recipe.label_smoothing),
        metrics=[TokenAccuracy()],
        jit_compile=jit_compile or keras.backend.backend() == "jax",
    )


def fit(model, data, corpus, tokenizer, recipe, options, log):
    """Train; an epoch of `fit` ends where weights are taken for the average."""
    batches = len(data.train)
    steps = number_of_steps(recipe, batches, options)
    every = batches if recipe.average_every == "epoch" else recipe.average_every
    epochs, every = equal_parts(steps, every)
    print(f"Training: {epochs} x {every} steps, {epochs * every:,} in all")
    averaging = CheckpointAveraging(last=recipe.average_last)
    greedy = Translator(model, tokenizer, search=GreedySearch())
    log.every = every
    stop = StopWithoutGain(log, recipe.patience)
    backup = TrainingBackup(options.output / "backup", data=data, averaging=averaging)
    bleu = BleuCallback(
        greedy,
        corpus.validation,
        averaging=averaging,
        every=options.bleu_every or max(epochs // 20, 1),
        tokenize=options.tokenize,
    )
    done = backup.restore(model)
    log.epochs = log.epochs[:done]
    model.fit(
        data.train.repeat(),
        validation_data=data.validation,
        steps_per_epoch=every,
        epochs=done if stop.is_time() else max(epochs, done),
        initial_epoch=done,
        callbacks=[averaging, bleu, log, stop, backup],
        shuffle=False,  # the data is shuffled anew for each epoch by itself
    )


def number_of_steps(recipe, batches, options):
    """Steps of the run: what the command line says, or else the recipe."""
    if options.steps or options.epochs:
        return options.steps or options.epochs * batches
    return recipe.steps or recipe.epochs * batches


def equal_parts(steps, most):
    """Split steps into as few equal parts as can be, of `most` steps or fewer.

    Returns the number of parts and the steps of one. Where that does not come out even,
    they have together some steps more, never fewer.
    """
    parts = math.ceil(steps / most)
    return parts, math.ceil(steps / parts)


def parse_options():
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description="Train a translator by a published recipe."
    )
    add = parser.add_argument
    add("recipe", choices=list(RECIPES))
    add("--data", type=Path, required=True, help="folder of the parallel files")
    add("--source", default="en", help="ending of the source files")
    add("--target", default="de", help="ending of the target files")
    add("--test", default="test_2016_flickr", help="name of the test set's files")
    add("--tokenize", default="none", help="sacreBLEU's tokenizer; 13a for raw text")
    length = parser.add_mutually_exclusive_group().add_argument
    length("--epochs", type=positive, help="passes over the corpus, not the recipe's")
    length("--steps", type=positive, help="optimizer steps, not the recipe's")
    add("--scale", type=float, default=1.0, help="factor of widths and batches")
    add("--seed", type=int, default=0)
    add("--bleu-every", type=positive, help="epochs between translations of `val`")
    add("--max-shapes", type=int, default=12, help="of batches; 0 for no limit")
    add("--bfloat16", action="store_true", help="compute in bfloat16")
    add("--jit", action="store_true", help="compile steps with XLA")
    add("--output", type=Path, help="folder of the run; by default in models/")
    options = parser.parse_args()
    options.output = options.output or (
        Path("models") / f"{options.recipe}-seed{options.seed}"
    )
    return options


def positive(text):
    """Read an integer of at least 1."""
    if int(text) < 1:
        raise ValueError
    return int(text)


if __name__ == "__main__":
    main()
