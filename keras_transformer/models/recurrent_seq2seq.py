"""The recurrent encoder-decoder with attention."""

import keras

from keras_transformer.argument_checks import (
    check_choice,
    check_positive_integer,
    check_rate,
)
from keras_transformer.layers.recurrent_decoder import RECURRENT
from keras_transformer.models.assembly import layer_counts, vocabulary_options
from keras_transformer.models.encoder_decoder import EncoderDecoder
from keras_transformer.models.recurrent_parts import RecurrentParts


@keras.saving.register_keras_serializable(package="keras_transformer")
class RecurrentSeq2Seq(EncoderDecoder):
    """Bahdanau's encoder-decoder, RNNsearch, as a functional Keras model.

    Recurrent layers read the source both ways. The decoder attends to what they found
    before each of its steps, see `RecurrentDecoder`. Inputs, output and use are those
    of `Transformer`. Padding of the source does not matter, wherever it stands; the
    target has its own at the end.

    Args:
        vocabulary_size: number of token ids, of the source at least.
        target_vocabulary_size: number of token ids of the target, if it is another
            vocabulary.
        num_layers: number of recurrent layers of encoder and decoder; or a pair for
            both.
        hidden_dim: width of embeddings and states; those of the encoder have it both
            ways.
        cell: `"lstm"` or `"gru"`; the paper's is close to a GRU.
        dropout: share dropped of the embeddings and of what each layer gives. Nothing
            is dropped on the way from a step to the next.
        tie_embeddings: `"all"` for one table of source, target and output;
            `"decoder"` for one of target and output; `"none"` for three. If not given,
            `"all"`, and `"decoder"` with a target vocabulary of its own.
        pad_id: id of padding.
        end_id: id that ends a sequence.
        start_id: id that a target begins with.
        seed: seed of all dropout; each layer gets one of its own from it.
        name: name of the model.
        dtype: dtype policy of all layers, the global one if not given.

    Raises:
        ValueError: for sizes below 1, another cell, a rate outside [0, 1), tied tables
            of different sizes, special ids outside the vocabulary.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import RecurrentSeq2Seq
        >>> model = RecurrentSeq2Seq(50, num_layers=1, hidden_dim=16)
        >>> source, target = np.array([[5, 6, 1]]), np.array([[2, 7]])
        >>> tuple(model({"source_ids": source, "target_ids": target}).shape)
        (1, 2, 50)

    Reference: Bahdanau et al., 2015, "Neural Machine Translation by Jointly Learning
    to Align and Translate".
    """

    def __init__(
        self,
        vocabulary_size,
        *,
        target_vocabulary_size=None,
        num_layers=1,
        hidden_dim=512,
        cell="lstm",
        dropout=0.1,
        tie_embeddings=None,
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
            "cell": check_choice("cell", cell, RECURRENT),
            "dropout": check_rate("dropout", dropout),
            "tie_embeddings": tie_embeddings,
            "seed": seed,
        }
        super().__init__(RecurrentParts(options, policy), policy, name)

    def encode(self, source_ids):
        """Encode a source.

        Args:
            source_ids: int32 (batch, source), padded with `pad_id`.

        Returns:
            The memory (batch, source, 2 * hidden_dim).
        """
        memory, _ = self.parts.encode(source_ids)
        return memory
