"""A stack of encoder blocks with its last norm."""

from keras_transformer.layers import EncoderBlock
from keras_transformer.models.assembly import make_blocks, make_norm


class EncoderStack:
    """Encoder blocks one after the other, and a norm at the end if they need one.

    Args:
        options: the arguments of the model, by name.
        policy: dtype policy of the layers.
    """

    def __init__(self, options, policy):
        self.blocks = make_blocks(
            EncoderBlock, options["num_layers"], "encoder", options, policy
        )
        self.norm = (
            make_norm("encoder_norm", options, policy)
            if options["normalize_first"]
            else None
        )

    def __call__(self, x, padding_mask=None):
        """Encode (batch, length, hidden_dim), the mask is True at real positions."""
        for block in self.blocks:
            x = block(x, padding_mask=padding_mask)
        return x if self.norm is None else self.norm(x)
