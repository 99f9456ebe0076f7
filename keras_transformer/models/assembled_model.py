"""What all models have in common: options, configuration, quantization."""

import keras

from keras_transformer.models.assembly import options_config
from keras_transformer.models.quantization import (
    int8_count,
    layers_without_quantization,
    quantization_of,
    quantize_again,
)


class AssembledModel(keras.Model):
    """A functional model, made of parts that are made of options.

    Args:
        inputs: the symbolic inputs.
        outputs: the symbolic outputs.
        parts: an object that holds the layers, and the constructor's arguments, but
            for the name and the dtype, in `options`.
        policy: dtype policy of all layers.
        name: name of the model.
    """

    def __init__(self, *, inputs, outputs, parts, policy, name=None):
        super().__init__(inputs=inputs, outputs=outputs, name=name)
        self.dtype_policy = policy  # Keras scales the loss of a mixed_float16 model
        self.parts, self._policy, self._quantizations = parts, policy, ()

    @property
    def options(self):
        """The constructor's arguments, by name."""
        return self.parts.options

    def quantize(self, mode=None, config=None, filters=None, **options):
        """Store kernels and token tables in 8 bits, to decode with.

        Keras quantizes the kernels and multiplies with them, by default after rounding
        what meets them to 8 bits too, each position by itself. Of token tables a row
        has a scale, and nothing else is rounded. Norms, biases and learned positions
        stay, and are what can still be trained: integers cannot, so that an optimizer
        is dropped.

        Args:
            mode: `"int8"`.
            config: a `keras.quantizers.Int8QuantizationConfig` for the kernels.
            filters: regular expression of names of layers, or a list of them; layers
                with other names stay.
            **options: as for `keras.Model.quantize`.

        Raises:
            ValueError: for another mode, a float16 model, filters that match no layer,
                or a layer that is quantized already.
            TypeError: for a function as filter, which could not be saved.
        """
        quantization, before = quantization_of(mode, config, filters), int8_count(self)
        given = {"mode": mode, "config": config, "filters": filters, **options}
        with layers_without_quantization():
            # Keras 3.12 has no filters, nor a config for this mode.
            super().quantize(**{k: v for k, v in given.items() if v is not None})
        if int8_count(self) == before:
            raise ValueError(
                f"`filters` must match the name of a layer. Received: {filters!r}."
            )
        self.note_quantization(quantization)

    def note_quantization(self, quantization):
        """Remember that layers were quantized, for the config.

        Args:
            quantization: what `quantization_of` returned.
        """
        self._quantizations = (*self._quantizations, quantization)
        self.optimizer, self.compiled = None, False

    def get_config(self):
        """Return the constructor's arguments, and quantizations if there are any."""
        quantizations = list(self._quantizations)
        return {
            **({"quantizations": quantizations} if quantizations else {}),
            **options_config(self.options),
            "name": self.name,
            "dtype": keras.dtype_policies.serialize(self._policy),
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """Make a model from `get_config`'s result."""
        quantizations = config.get("quantizations", ())
        options = {k: v for k, v in config.items() if k != "quantizations"}
        return quantize_again(cls(**options), quantizations)
