"""Seeds and initial values that differ between the parts of one layer."""

import zlib


def seed_for(seed, name):
    """Derive the seed of the part `name`, `None` if there is none.

    Parts with the same seed would draw the same numbers: the same units would drop out
    in all layers at once.
    """
    return None if seed is None else (seed + zlib.crc32(name.encode())) % 2**31


def initializer_for(initializer, name):
    """Copy an initializer for the weight `name`.

    A Keras initializer is a pure function of its seed: the same object, or a copy with
    the same explicit seed, gives query, key and value the same kernel. So each copy
    gets a new seed, which depends on an explicit seed and on the name.
    """
    config = initializer.get_config()
    if isinstance(config.get("seed"), int):
        config["seed"] = seed_for(config["seed"], name)
    return type(initializer).from_config(config)
