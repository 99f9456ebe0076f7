"""What models with an encoder and a head have in common."""

from keras_transformer.models.assembled_model import AssembledModel
from keras_transformer.models.encoder import Encoder, encoder_inputs
from keras_transformer.models.quantization import int8_count


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
        self.options = {"encoder": None, **options}


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

    def quantize(self, mode=None, config=None, filters=None, **options):
        """Store kernels and token tables in 8 bits, the encoder's too.

        Args:
            mode: `"int8"`.
            config: a `keras.quantizers.Int8QuantizationConfig` for the kernels.
            filters: regular expression of names of layers, or a list of them; layers
                with other names stay.
            **options: as for `keras.Model.quantize`.
        """
        before = int8_count(self.encoder)
        super().quantize(mode, config, filters, **options)
        if int8_count(self.encoder) > before:
            self.encoder.note_quantization(list(self._quantizations).pop())

    def get_config(self):
        """Return the constructor's arguments, and quantizations if there are any."""
        own = [dict(quantization) for quantization in self._quantizations]
        encoder = self.encoder.get_config()
        # What was done to both is done again through this model.
        earlier = [
            quantization
            for quantization in encoder.pop("quantizations", [])
            if dict(quantization) not in own
        ]
        encoder = {**encoder, **({"quantizations": earlier} if earlier else {})}
        config = {**super().get_config(), "encoder": encoder}
        return {name: value for name, value in config.items() if name != "dtype"}
