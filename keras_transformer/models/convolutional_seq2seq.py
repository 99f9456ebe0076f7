"""The convolutional encoder-decoder."""

import keras

from keras_transformer.argument_checks import (
    check_choice,
    check_positive_integer,
    check_rate,
)
from keras_transformer.models.assembly import layer_counts, vocabulary_options
from keras_transformer.models.convolutional_parts import ConvolutionalParts
from keras_transformer.models.encoder_decoder import EncoderDecoder

POSITIONS = ("sinusoidal", "learned", None)


@keras.saving.register_keras_serializable(package="keras_transformer")
class ConvolutionalSeq2Seq(EncoderDecoder):
    """Gehring's encoder-decoder, ConvS2S, as a functional Keras model.

    Blocks of gated convolutions, causal ones in the decoder, where each attends to the
    encoder's output; see `ConvolutionalEncoderBlock` and `ConvolutionalDecoderBlock`.
    Inputs, output and use are those of `Transformer`. Padding after the source does not
    matter; the target has its own at the end. A block sees `kernel_size - 1` positions
    more than the one below it.

    Embeddings have the blocks' width, so that the maps between both widths fall away.
    Weights are not normalised, and the encoder's gradient is not scaled down.

    Args:
        vocabulary_size: number of token ids, of the source at least.
        target_vocabulary_size: number of token ids of the target, if it is another
            vocabulary.
        num_layers: number of blocks in encoder and decoder; or a pair for both.
        hidden_dim: width of embeddings and blocks.
        kernel_size: number of positions that a convolution sees.
        dropout: share dropped of the embeddings, of each convolution's inputs and of
            the decoder's output.
        tie_embeddings: `"all"` for one table of source, target and output;
            `"decoder"` for one of target and output; `"none"` for three. If not given,
            `"all"`, and `"decoder"` with a target vocabulary of its own.
        position: `"sinusoidal"`; `"learned"`, as in the paper; or `None`.
        max_length: number of learned positions; for `position="learned"` only.
        pad_id: id of padding.
        end_id: id that ends a sequence.
        start_id: id that a target begins with.
        seed: seed of all dropout; each layer gets one of its own from it.
        name: name of the model.
        dtype: dtype policy of all layers, the global one if not given.

    Raises:
        ValueError: for sizes below 1, a rate outside [0, 1), other positions, tied
            tables of different sizes, special ids outside the vocabulary.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import ConvolutionalSeq2Seq
        >>> model = ConvolutionalSeq2Seq(50, num_layers=2, hidden_dim=16)
        >>> source, target = np.array([[5, 6, 1]]), np.array([[2, 7]])
        >>> tuple(model({"source_ids": source, "target_ids": target}).shape)
        (1, 2, 50)

    Reference: Gehring et al., 2017, "Convolutional Sequence to Sequence Learning".
    """

    def __init__(
        self,
        vocabulary_size,
        *,
        target_vocabulary_size=None,
        num_layers=6,
        hidden_dim=512,
        kernel_size=3,
        dropout=0.1,
        tie_embeddings=None,
        position="sinusoidal",
        max_length=None,
        pad_id=0,
        end_id=1,
        start_id=2,
        seed=None,
        name=None,
        dtype=None,
    ):
        policy = keras.dtype_policies.get(dtype or keras.config.dtype_policy())
        options = {
            **vocabulary_options(
                vocabulary_size, target_vocabulary_size, pad_id, end_id, start_id
            ),
            "num_layers": layer_counts(num_layers),
            "hidden_dim": check_positive_integer("hidden_dim", hidden_dim),
            "kernel_size": check_positive_integer("kernel_size", kernel_size),
            "dropout": check_rate("dropout", dropout),
            "tie_embeddings": tie_embeddings,
            "position": check_choice("position", position, POSITIONS),
            "max_length": max_length,
            "seed": seed,
        }
        super().__init__(ConvolutionalParts(options, policy), policy, name)

    def encode(self, source_ids):
        """Encode a source.

        Args:
            source_ids: int32 (batch, source), padded with `pad_id`.

        Returns:
            The memory (batch, source, hidden_dim).
        """
        memory, _ = self.parts.encode(source_ids)
        return memory
