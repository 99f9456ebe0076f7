"""What models with an encoder and a head have in common."""

from keras_transformer.models.assembled_model import AssembledModel
from keras_transformer.models.encoder import Encoder, encoder_inputs


class HeadParts:
    """An encoder and the options of its head.

    Args:
        encoder: the `Encoder`, or its configuration.
        options: the other arguments of the model, by name.
    """

    def __init__(self, encoder, options):
        if isinstance(encoder, dict):
            encoder = Encoder.from_config(encoder)
        if not isinstance(encoder, Encoder):
            raise ValueError(f"`encoder` must be an Encoder. Received: {encoder!r}.")
        self.encoder = encoder
        self.options = {"encoder": encoder.get_config(), **options}


class EncoderHead(AssembledModel):
    """A functional model of an encoder's layers and a head's.

    Args:
        parts: the `HeadParts`.
        head: a function of the hidden states (batch, length, hidden_dim) and of the
            padding mask (batch, length).
        name: name of the model.
    """

    # The encoder is no layer of this model, its layers are: so they show in the
    # summary. The parts keep it out of sight of Keras, which tracks attributes.

    def __init__(self, *, parts, head, name=None):
        own = parts.encoder.parts
        inputs = encoder_inputs(own)
        mask = own.padding_mask(own.ids_of(inputs)[0])
        super().__init__(
            inputs=inputs,
            outputs=head(own.encode(inputs), mask),
            parts=parts,
            policy=parts.encoder.dtype_policy,
            name=name,
        )
        self.pad_id = parts.encoder.pad_id

    @property
    def encoder(self):
        """The encoder, whose layers this model shares."""
        return self.parts.encoder

    def get_config(self):
        """Return the constructor's arguments, and quantizations if there are any."""
        config = super().get_config()
        return {name: value for name, value in config.items() if name != "dtype"}
