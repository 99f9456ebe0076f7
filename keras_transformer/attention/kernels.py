"""The attention functions that layers know by name.

Each takes what `dot_product_attention` takes, and returns what it returns. The first
two compute the same.
"""

from keras_transformer.attention.blockwise import blockwise_attention
from keras_transformer.attention.dot_product import dot_product_attention
from keras_transformer.attention.linear import linear_attention

KERNELS = {
    "dot_product": dot_product_attention,
    "blockwise": blockwise_attention,
    "linear": linear_attention,
}
