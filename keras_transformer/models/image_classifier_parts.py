"""The layers of an image classifier, and how they are connected."""

import keras
from keras import ops

from keras_transformer.layers import (
    ClassToken,
    LearnedPositionalEncoding,
    PatchEmbedding,
    PositionalEncoding2D,
)
from keras_transformer.layers.byte_dropout import ByteDropout
from keras_transformer.layers.initialization import seed_for
from keras_transformer.models.encoder_stack import EncoderStack


class ImageClassifierParts:
    """All layers of an `ImageClassifier`, made from its options.

    Args:
        options: the arguments of `ImageClassifier`, by name.
        policy: dtype policy of all layers.
    """

    def __init__(self, options, policy):
        self.options = options
        on_grid = options["position"] == "sinusoidal"
        self.patches = PatchEmbedding(
            options["patch_size"],
            options["hidden_dim"],
            flatten=not on_grid,
            dtype=policy,
            name="patch_embedding",
        )
        self.grid_position = self.flat = self.position = self.class_token = None
        if on_grid:
            self.grid_position = PositionalEncoding2D(
                dtype=policy, name="patch_position"
            )
            self.flat = keras.layers.Reshape(
                (-1, options["hidden_dim"]), dtype=policy, name="patches"
            )
        if options["pooling"] == "token":
            self.class_token = ClassToken(dtype=policy, name="class_token")
        if options["position"] == "learned":
            self.position = LearnedPositionalEncoding(
                number_of_positions(options), dtype=policy, name="patch_position"
            )
        self.dropout = ByteDropout(
            options["dropout"],
            seed=seed_for(options["seed"], "patch"),
            dtype=policy,
            name="patch_dropout",
        )
        self.stack = EncoderStack(options["num_layers"], options, policy)
        self.head = keras.layers.Dense(
            options["num_classes"], dtype=policy, name="classes"
        )

    def classify(self, images):
        """Score the classes of images (batch, height, width, channels)."""
        x = self.patches(images)
        if self.grid_position is not None and self.flat is not None:
            x = self.flat(self.grid_position(x))
        if self.class_token is not None:
            x = self.class_token(x)
        if self.position is not None:
            x = self.position(x)
        x = self.stack(self.dropout(x))  # (batch, positions, hidden_dim)
        if self.class_token is not None:
            return self.head(x[:, 0])
        return self.head(ops.mean(ops.cast(x, "float32"), axis=1))


def number_of_positions(options):
    """Count the patches of an image, and the class token if there is one."""
    height, width = options["image_size"]
    size = options["patch_size"]
    return (height // size) * (width // size) + (options["pooling"] == "token")
