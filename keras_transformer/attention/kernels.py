"""The attention functions that layers know by name.

Each takes what `dot_product_attention` takes, and gives what it gives.
"""

from keras_transformer.attention.blockwise import blockwise_attention
from keras_transformer.attention.dot_product import dot_product_attention

KERNELS = {"dot_product": dot_product_attention, "blockwise": blockwise_attention}
