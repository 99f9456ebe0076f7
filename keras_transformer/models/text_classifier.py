"""An encoder that classifies sequences."""

import keras
from keras import ops

from keras_transformer.argument_checks import (
    check_choice,
    check_positive_integer,
    check_rate,
)
from keras_transformer.layers.byte_dropout import ByteDropout
from keras_transformer.layers.initialization import seed_for
from keras_transformer.models.encoder_head import EncoderHead, HeadParts

POOLING = ("first", "mean")


@keras.saving.register_keras_serializable(package="keras_transformer")
class TextClassifier(EncoderHead):
    """Logits of classes, from one vector for a whole sequence.

    ```
    p = tanh(pool(h) W + b)
    logits = Dropout(p) V + c
    ```

    Inputs are those of the encoder, the output is (batch, num_classes).

    Args:
        encoder: an `Encoder`, or the configuration of one; for example that of a
            `MaskedLanguageModel`. It is trained with the head.
        num_classes: number of classes.
        pooling: `"first"` for the hidden state at the first position, or `"mean"` for
            the mean over real positions.
        pooler: whether the dense map of the first line stands between; else
            p = pool(h).
        dropout: share dropped of p in training.
        seed: seed of the dropout.
        name: name of the model.

    Raises:
        ValueError: for another model as `encoder`, sizes below 1, rates outside
            [0, 1), or another `pooling`.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import Encoder, TextClassifier
        >>> encoder = Encoder(50, num_layers=1, hidden_dim=16, num_heads=2,
        ...                   intermediate_dim=32, max_length=8)
        >>> model = TextClassifier(encoder, num_classes=3, pooling="mean")
        >>> tuple(model(np.array([[5, 6, 7], [8, 9, 0]])).shape)
        (2, 3)

    Reference: Devlin et al., 2019, "BERT: Pre-training of Deep Bidirectional
    Transformers for Language Understanding", section 4.1.
    """

    def __init__(
        self,
        encoder,
        num_classes,
        *,
        pooling="first",
        pooler=True,
        dropout=0.1,
        seed=None,
        name=None,
    ):
        options = {
            "num_classes": check_positive_integer("num_classes", num_classes),
            "pooling": check_choice("pooling", pooling, POOLING),
            "pooler": pooler,
            "dropout": check_rate("dropout", dropout),
            "seed": seed,
        }
        parts = HeadParts(encoder, options)
        width, policy = parts.encoder.options["hidden_dim"], parts.encoder.dtype_policy
        layers = [
            ByteDropout(
                dropout, seed=seed_for(seed, "pooled"), dtype=policy, name="dropout"
            ),
            keras.layers.Dense(num_classes, dtype=policy, name="classes"),
        ]
        if pooler:
            dense = keras.layers.Dense(
                width, activation="tanh", dtype=policy, name="pooler"
            )
            layers = [dense, *layers]

        def head(hidden, mask):
            x = hidden[:, 0] if pooling == "first" else real_mean(hidden, mask)
            for layer in layers:
                x = layer(x)
            return x

        super().__init__(parts=parts, head=head, name=name)


def real_mean(x, mask):
    """Average the real positions in float32.

    Args:
        x: (batch, length, width).
        mask: boolean (batch, length), True at real positions.

    Returns:
        float32 (batch, width), 0 where nothing is real.
    """
    real = mask[..., None]
    total = ops.sum(ops.where(real, ops.cast(x, "float32"), 0.0), axis=1)
    number = ops.sum(ops.cast(real, "float32"), axis=1)
    return total / ops.maximum(number, 1.0)
