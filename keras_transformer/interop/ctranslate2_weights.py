"""A model's weights in CTranslate2's layout.

CTranslate2 keeps kernels as (outputs, inputs). It projects queries, keys and values of
self-attention with one matrix, and those of the memory's keys and values with another.
"""

import numpy as np
from keras import ops

from keras_transformer.interop.ctranslate2_options import activation_of
from keras_transformer.layers import LearnedPositionalEncoding

SINUSOIDS = 4096  # positions written of an encoding that has no end


def transformer_spec(specs, model):
    """Make a filled `TransformerSpec`.

    Args:
        specs: the module `ctranslate2.specs`.
        model: a `Transformer` that `check_options` has passed.
    """
    parts, options = model.parts, model.options
    architecture = {
        "pre_norm": options["normalize_first"],
        "rms_norm": options["normalization"] == "rms",
        "activation": specs.Activation[activation_of(options["activation"])],
    }
    heads = options["num_heads"]
    encoder = specs.TransformerEncoderSpec(
        len(parts.encoder_blocks), heads, **architecture
    )
    decoder = specs.TransformerDecoderSpec(
        len(parts.decoder_blocks), heads, **architecture
    )
    _fill_side(encoder, encoder.embeddings[0], parts.source, parts.encoder_norm)
    for layer, block in zip(encoder.layer, parts.encoder_blocks, strict=True):
        _fill_self_attention(layer.self_attention, block)
        _fill_feed_forward(layer.ffn, block)
    _fill_side(decoder, decoder.embeddings, parts.target, parts.decoder_norm)
    for layer, block in zip(decoder.layer, parts.decoder_blocks, strict=True):
        _fill_self_attention(layer.self_attention, block)
        _fill_cross_attention(layer.attention, block)
        _fill_feed_forward(layer.ffn, block)
    decoder.projection.weight = _array(parts.output_embedding.embeddings)
    return specs.TransformerSpec(encoder, decoder)


def _array(tensor):
    # A copy, since CTranslate2 quantizes in place.
    return np.array(ops.convert_to_numpy(tensor), dtype="float32")


def _fill_side(spec, embeddings, embedder, norm):
    """Fill what a stack of blocks begins and ends with."""
    embeddings.weight = _array(embedder.embedding.embeddings)
    spec.scale_embeddings = bool(embedder.embedding.scale)
    width = embeddings.weight.shape[1]
    spec.position_encodings.encodings = _positions(embedder.position, width)
    if norm is not None:
        _fill_norm(spec.layer_norm, norm)


def _positions(layer, width):
    """Table (positions, width) of what is added; none would mean another sinusoid."""
    if layer is None:
        return np.zeros((SINUSOIDS, width), "float32")
    if isinstance(layer, LearnedPositionalEncoding):
        return _array(layer.embeddings)
    return _array(layer.encode(SINUSOIDS, width))


def _fill_self_attention(spec, block):
    attention = block.self_attention
    projections = _queries(attention), *_keys_and_values(attention)
    _fill_fused(spec.linear[0], projections)
    _fill_output(spec, attention, block.self_attention_residual)


def _fill_cross_attention(spec, block):
    attention = block.cross_attention
    _fill_fused(spec.linear[0], [_queries(attention)])
    _fill_fused(spec.linear[1], _keys_and_values(attention))
    _fill_output(spec, attention, block.cross_attention_residual)


def _fill_feed_forward(spec, block):
    network = block.feed_forward
    _fill_fused(spec.linear_0, [_linear(network.intermediate)])
    _fill_fused(spec.linear_1, [_linear(network.output_dense)])
    _fill_norm(spec.layer_norm, block.feed_forward_residual.norm)


def _fill_output(spec, attention, residual):
    kernel, bias = _linear(attention.output_dense)  # (heads, head_dim, width)
    _fill_fused(spec.linear[-1], [(kernel.reshape(-1, kernel.shape[-1]), bias)])
    _fill_norm(spec.layer_norm, residual.norm)


def _fill_fused(spec, projections):
    """Stack kernels (inputs, ...) and biases, one below the other."""
    kernels = [kernel.reshape(len(kernel), -1).T for kernel, _ in projections]
    spec.weight = np.concatenate(kernels)
    biases = [bias.reshape(-1) for _, bias in projections if bias is not None]
    if biases:
        spec.bias = np.concatenate(biases)


def _fill_norm(spec, norm):
    if hasattr(norm, "beta"):
        spec.gamma, spec.beta = _array(norm.gamma), _array(norm.beta)
    else:
        spec.gamma = _array(norm.scale)


def _queries(attention):
    return _linear(attention.query_dense)


def _keys_and_values(attention):
    """Kernels (width, heads, head_dim) and biases, with a copy for each query head."""
    copies = attention.num_heads // attention.num_key_value_heads
    return [
        tuple(
            None if array is None else np.repeat(array, copies, axis=-2)
            for array in _linear(layer)
        )
        for layer in (attention.key_dense, attention.value_dense)
    ]


def _linear(layer):
    """Kernel and bias of a layer; the bias may be `None`."""
    return _array(layer.kernel), None if layer.bias is None else _array(layer.bias)
