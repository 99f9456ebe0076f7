"""An encoder that predicts masked tokens."""

import keras

from keras_transformer.layers.bias import Bias
from keras_transformer.layers.gated_activation import as_activation, gate_of
from keras_transformer.models.assembly import make_norm
from keras_transformer.models.encoder_head import EncoderHead, HeadParts


@keras.saving.register_keras_serializable(package="keras_transformer")
class MaskedLanguageModel(EncoderHead):
    """Logits of the token at each position, from an encoder that sees the others.

    ```
    logits(h) = Norm(activation(h W + b)) E^T + c
    ```

    E is the encoder's table of tokens. Inputs are those of the encoder, the output is
    (batch, length, vocabulary). `TokenMasking` makes inputs and labels to train it, and
    the layers are the encoder's own: what this model learns, the encoder knows.

    Args:
        encoder: an `Encoder`, or the configuration of one.
        activation: activation of the head, the encoder's if not given.
        name: name of the model.

    Raises:
        ValueError: for another model as `encoder`.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import Encoder, MaskedLanguageModel
        >>> encoder = Encoder(50, num_layers=1, hidden_dim=16, num_heads=2,
        ...                   intermediate_dim=32, max_length=8)
        >>> model = MaskedLanguageModel(encoder)
        >>> tuple(model(np.array([[5, 6, 7], [8, 9, 0]])).shape)
        (2, 3, 50)

    Reference: Devlin et al., 2019, "BERT: Pre-training of Deep Bidirectional
    Transformers for Language Understanding", section 3.1.
    """

    def __init__(self, encoder, *, activation=None, name=None):
        parts = HeadParts(encoder, {})
        own, policy = parts.encoder.options, parts.encoder.dtype_policy
        activation = own["activation"] if activation is None else activation
        parts.options["activation"] = activation
        activation = gate_of(as_activation(activation))
        transform = keras.layers.Dense(
            own["hidden_dim"], activation=activation, dtype=policy, name="transform"
        )
        norm = make_norm("transform_norm", own, policy)
        bias = Bias(dtype=policy, name="output_bias")

        def head(hidden, mask):
            x = norm(transform(hidden))
            return bias(parts.encoder.parts.embedding(x, reverse=True))

        super().__init__(parts=parts, head=head, name=name)
