"""An encoder of image patches that classifies."""

import keras

from keras_transformer.argument_checks import check_choice, check_positive_integer
from keras_transformer.layers.patch_embedding import check_image_shape
from keras_transformer.models.assembled_model import AssembledModel
from keras_transformer.models.assembly import (
    check_block_options,
    checked_options,
)
from keras_transformer.models.image_classifier_parts import ImageClassifierParts
from keras_transformer.models.position_choice import check_grid_position

POOLING = ("token", "mean")


@keras.saving.register_keras_serializable(package="keras_transformer")
class ImageClassifier(AssembledModel):
    """Images to logits of classes through their patches, as a functional Keras model.

    ```
    x = [c; flatten(patch_1) W + b; ...; flatten(patch_n) W + b] + P
    logits = Norm(Encoder(x))_0 V + d
    ```

    The input is (batch, height, width, channels), floating point, the output (batch,
    num_classes). The defaults have the shape of the Vision Transformer and its base
    size.

    Args:
        num_classes: number of classes.
        image_size: height and width of the images, a pair or one number for both;
            `None` if they differ from batch to batch, which learned positions do not
            allow.
        channels: number of channels of the images.
        patch_size: height and width of a patch; must divide the images'.
        num_layers: number of blocks.
        hidden_dim: width of the model, d_model.
        num_heads: number of attention heads, h.
        intermediate_dim: width inside the feed-forward networks, d_ff.
        pooling: `"token"` for a class token in front of the patches, or `"mean"` for
            the mean over the patches.
        dropout: share dropped of the embeddings and of each sublayer's output.
        attention_dropout: share dropped of the attention scores.
        activation: activation of the feed-forward networks.
        normalize_first: whether blocks normalise first (pre-norm). A last norm then
            ends the stack.
        normalization: `"layer"` or `"rms"`.
        layer_norm_epsilon: added to the variance in the normalisation.
        use_bias: whether projections and maps of the blocks add a bias.
        num_key_value_heads: number of key and value heads, a divisor of `num_heads`.
        position: `"learned"` for a vector for each patch and the class token;
            `"sinusoidal"` for `PositionalEncoding2D` of the patches; `"rotary"`,
            `"alibi"`, `"relative"` or a layer that works in self-attention, which
            counts the class token, then row by row; `None`.
        seed: seed of all dropout; each layer gets one of its own from it.
        **block_options: other options of `EncoderBlock`: `attention`, `window`,
            `query_key_norm`, `intermediate_dropout`, `feed_forward` (`intermediate_dim`
            and `activation` are then not used) and `stochastic_depth`, whose rate grows
            linearly with the depth to the one given.
        name: name of the model.
        dtype: dtype policy of all layers, the global one if not given.

    Raises:
        ValueError: for sizes below 1, rates outside [0, 1), a width that `num_heads`
            does not divide, patches that do not divide the images, or learned
            positions without an `image_size`.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import ImageClassifier
        >>> model = ImageClassifier(10, image_size=8, channels=1, patch_size=4,
        ...                         num_layers=1, hidden_dim=16, num_heads=2,
        ...                         intermediate_dim=32)
        >>> tuple(model(np.zeros((2, 8, 8, 1), "float32")).shape)
        (2, 10)

    Reference: Dosovitskiy et al., 2021, "An Image is Worth 16x16 Words".
    """

    def __init__(
        self,
        num_classes,
        *,
        image_size=224,
        channels=3,
        patch_size=16,
        num_layers=12,
        hidden_dim=768,
        num_heads=12,
        intermediate_dim=3072,
        pooling="token",
        dropout=0.0,
        attention_dropout=0.0,
        activation="gelu",
        normalize_first=True,
        normalization="layer",
        layer_norm_epsilon=1e-6,
        use_bias=True,
        num_key_value_heads=None,
        position="learned",
        seed=None,
        name=None,
        dtype=None,
        **block_options,
    ):
        options = checked_options(
            num_classes=check_positive_integer("num_classes", num_classes),
            image_size=image_pair(image_size),
            channels=check_positive_integer("channels", channels),
            patch_size=check_positive_integer("patch_size", patch_size),
            num_layers=check_positive_integer("num_layers", num_layers),
            hidden_dim=hidden_dim,
            num_heads=num_heads,
            intermediate_dim=intermediate_dim,
            pooling=check_choice("pooling", pooling, POOLING),
            dropout=dropout,
            attention_dropout=attention_dropout,
            activation=activation,
            normalize_first=normalize_first,
            normalization=normalization,
            layer_norm_epsilon=layer_norm_epsilon,
            use_bias=use_bias,
            num_key_value_heads=num_key_value_heads,
            position=position,
            seed=seed,
            **check_block_options(block_options),
        )
        if options["image_size"] is not None:
            shape = (None, *options["image_size"], channels)
            check_image_shape(shape, patch_size)
        check_grid_position(position, image_size)
        policy = keras.dtype_policies.get(dtype or keras.config.dtype_policy())
        parts = ImageClassifierParts(options, policy)
        height, width = options["image_size"] or (None, None)
        images = keras.Input((height, width, channels), name="images")
        super().__init__(
            inputs=images,
            outputs=parts.classify(images),
            parts=parts,
            policy=policy,
            name=name,
        )

    @property
    def num_classes(self):
        """Number of classes."""
        return self.options["num_classes"]


def image_pair(image_size):
    """Height and width from a pair or one number, `None` from `None`."""
    if image_size is None:
        return None
    pair = image_size if isinstance(image_size, (tuple, list)) else [image_size] * 2
    if len(pair) != 2:
        raise ValueError(
            "`image_size` must be a number, a pair (height, width) or None. "
            f"Received: {image_size!r}."
        )
    return [check_positive_integer("image_size", size) for size in pair]
