"""A stack of encoder blocks with its last norm."""

from keras_transformer.layers import EncoderBlock
from keras_transformer.models.assembly import make_blocks, make_norm


class EncoderStack:
    """Encoder blocks one after the other, and a norm at the end if they need one.

    Args:
        number: how many blocks.
        options: the arguments of the model, by name.
        policy: dtype policy of the layers.
    """

    def __init__(self, number, options, policy):
        self.blocks = make_blocks(EncoderBlock, number, "encoder", options, policy)
        self.norm = (
            make_norm("encoder_norm", options, policy)
            if options["normalize_first"]
            else None
        )

    def __call__(self, x, padding_mask=None, scores=None):
        """Encode.

        Args:
            x: (batch, length, hidden_dim).
            padding_mask: boolean (batch, length), True at real positions.
            scores: a list, to which each block's attention scores are appended as a
                tuple of one, (batch, heads, length, length).

        Returns:
            (batch, length, hidden_dim).
        """
        for block in self.blocks:
            x = run_block(block, x, scores=scores, padding_mask=padding_mask)
        return x if self.norm is None else self.norm(x)


def run_block(block, *inputs, scores, **masks):
    """Call a block, and append its attention scores to a list if there is one."""
    if scores is None:
        return block(*inputs, **masks)
    x, *own = block(*inputs, **masks, return_attention_scores=True)
    scores.append(tuple(own))
    return x
