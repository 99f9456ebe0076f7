"""Initial values that differ between the weights of one layer."""

import zlib


def initializer_for(initializer, name):
    """Copy an initializer for the weight `name`.

    A Keras initializer is a pure function of its seed: the same object, or a copy with
    the same explicit seed, gives query, key and value the same kernel. So each copy
    gets a new seed, which depends on an explicit seed and on the name.
    """
    config = initializer.get_config()
    if isinstance(config.get("seed"), int):
        config["seed"] = (config["seed"] + zlib.crc32(name.encode())) % 2**31
    return type(initializer).from_config(config)
