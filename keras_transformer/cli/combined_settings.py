"""Settings of a file and of the command line together."""

from keras_transformer.cli.model_sizes import SIZE_OPTIONS
from keras_transformer.cli.train_settings import TrainSettings

CORPUS = ("pairs", "source", "target", "corpus")
VALIDATION = ("validation_pairs", "validation_source", "validation_target")
LENGTH = ("epochs", "steps")


def combined(read, given):
    """Return settings of a file, with those of the command line in their place.

    A corpus takes the place of another one and of its validation files, `steps` of
    `epochs`, and a size of all that the former size has decided.

    Args:
        read: a dictionary.
        given: a dictionary.
    """
    replaced = set(given)
    for group in (CORPUS, VALIDATION, LENGTH):
        if replaced & set(group):
            replaced |= set(group)
    if set(given) & set(CORPUS):
        replaced |= set(VALIDATION)  # which belong to the other corpus
    if "size" in given:
        replaced |= set(SIZE_OPTIONS)
    kept = {name: value for name, value in read.items() if name not in replaced}
    return TrainSettings(**kept, **given)
