"""A model's encoder and decoder step, as two Keras models of plain named tensors."""

import keras

from keras_transformer.layers.key_value_cache import block_ends
from keras_transformer.layers.known_values import promised_range
from keras_transformer.layers.plain_graph import plain_graph

WRITTEN = "new_"  # before the name of a cache that a step has written to


def encoder_and_step(model, max_length, batch_size=None):
    """Make functional models of what `model.start` and `model.step` compute.

    The first gives all that the second takes besides a token and its position. Tensors
    of the same name have the same shape and dtype in both.

    Args:
        model: a `Transformer` on the TensorFlow backend.
        max_length: number of target positions to make room for.
        batch_size: number of sources, `None` for any.

    Returns:
        Two `keras.Model`s, from dictionaries of tensors to dictionaries of tensors.

    Raises:
        ValueError: if there are not that many learned positions.
    """
    source_ids = keras.Input(
        batch_shape=(batch_size, None), dtype="int32", name="source_ids"
    )
    memory = _Start(model, max_length, name="encoder")(source_ids)
    taken = {
        "token_ids": keras.Input(
            batch_shape=(batch_size,), dtype="int32", name="token_ids"
        ),
        "index": keras.Input(batch_shape=(), dtype="int32", name="index"),
        **{
            name: keras.Input(batch_shape=given.shape, dtype=given.dtype, name=name)
            for name, given in memory.items()
        },
    }
    given = _Step(model, max_length, name="step")(taken)
    return keras.Model({"source_ids": source_ids}, memory), keras.Model(taken, given)


class _Part(keras.layers.Layer):
    def __init__(self, model, max_length, **kwargs):
        super().__init__(**kwargs)
        self.model, self.max_length = model, max_length
        layers = len(model.parts.decoder_blocks)
        self.own = _names("self", layers, len(block_ends(max_length)))
        self.cross = _names("cross", layers, 1)
        self.built = True


class _Start(_Part):
    def call(self, inputs):
        (_, caches), shared = self.model.start(inputs, self.max_length)
        return {
            **_by_name(self.own, caches),
            **_by_name(self.cross, shared["cross"]),
            "source_mask": shared["padding_mask"],
        }


class _Step(_Part):
    def call(self, inputs):
        state = None, keras.tree.map_structure(inputs.get, self.own)
        shared = {
            "cross": keras.tree.map_structure(inputs.get, self.cross),
            "padding_mask": inputs["source_mask"],
            "kernels": None,
        }
        index = inputs["index"]
        # One graph for all positions, of operations that other runtimes know.
        with promised_range(index, 0, self.max_length - 1), plain_graph():
            logits, (_, caches) = self.model.step(
                inputs["token_ids"], state, index, shared
            )
        written = _by_name(self.own, caches)
        return {"logits": logits, **{WRITTEN + name: written[name] for name in written}}


def _names(kind, layers, blocks):
    """Name the tensors of caches, in the structure in which a model holds them."""
    return [
        {
            part: [f"{kind}_{part}_{layer}_{block}" for block in range(blocks)]
            for part in ("key", "value")
        }
        for layer in range(layers)
    ]


def _by_name(names, tensors):
    flat = keras.tree.flatten(names), keras.tree.flatten(tensors)
    return dict(zip(*flat, strict=True))
