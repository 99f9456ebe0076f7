"""The decoder block."""

import keras
from keras import ops

from keras_transformer.argument_checks import check_positive_integer
from keras_transformer.attention import (
    as_attention_bias,
    as_attention_mask,
    as_padding_mask,
    key_mask,
    real_positions,
)
from keras_transformer.layers.attention_choice import across, check_bias
from keras_transformer.layers.cached_attention import (
    attend_cached,
    attend_passed,
    scores_by_row,
)
from keras_transformer.layers.key_value_cache import (
    empty_cache,
    laid_out,
    max_length_of,
    stop_at_overflow,
    write_cache,
)
from keras_transformer.layers.lineage import check_lineage, own_line, visible_slots
from keras_transformer.layers.position_seam import as_positions
from keras_transformer.layers.sequence_shape import check_sequence_shape
from keras_transformer.layers.transformer_block import TransformerBlock


@keras.saving.register_keras_serializable(package="keras_transformer")
class DecoderBlock(TransformerBlock):
    """Causal self-attention, attention to the encoder's output, feed-forward network.

    ```
    g = LayerNorm(x + MultiHead(x, x, x))               causal
    h = LayerNorm(g + MultiHead(g, memory, memory))
    y = LayerNorm(h + FFN(h))
    ```

    `call` decodes whole sequences, for training. `start` and `step` decode position by
    position and keep the keys and values of what they have seen: the same result.

    Args:
        num_heads: number of attention heads, h; must divide the input's width.
        intermediate_dim: width between the maps of the feed-forward network, d_ff;
            `None` if `feed_forward` is given.
        cross_attention: whether the block attends to a memory, the encoder's output.
        **options: as for `EncoderBlock`.

    Raises:
        ValueError: as `EncoderBlock`; a memory that is missing, or given to a block
            without cross-attention.

    Examples:
        >>> import numpy as np
        >>> from keras_transformer import DecoderBlock
        >>> block = DecoderBlock(num_heads=2, intermediate_dim=32)
        >>> target = np.ones((2, 3, 8), "float32")
        >>> memory = np.ones((2, 5, 8), "float32")
        >>> tuple(block(target, memory).shape)
        (2, 3, 8)
        >>> cache = block.start(memory, max_length=3)
        >>> y, cache = block.step(target[:, :1], cache, 0)
        >>> tuple(y.shape)
        (2, 1, 8)

    Reference: Vaswani et al., 2017, "Attention Is All You Need", section 3.1.
    """

    def __init__(
        self, num_heads, intermediate_dim=None, *, cross_attention=True, **options
    ):
        super().__init__(num_heads, intermediate_dim, **options)
        self.has_cross_attention = bool(cross_attention)

    def build(self, inputs_shape, memory_shape=None):
        """Create the sublayers for the width of the inputs."""
        check_sequence_shape(inputs_shape)
        width = inputs_shape[-1]
        self.self_attention = self._make_self_attention(width)
        self.self_attention.build(inputs_shape, inputs_shape)
        self.self_attention_residual = self._make_residual("self_attention_residual")
        self.self_attention_residual.build(inputs_shape)
        if self.has_cross_attention:
            if memory_shape is None:
                raise ValueError(
                    "A block with `cross_attention=True` needs `memory`, the output "
                    "of an encoder. Received: memory=None."
                )
            self.cross_attention = self._make_attention(
                "cross_attention", width, attention=across(self.attention)
            )
            self.cross_attention.build(inputs_shape, memory_shape)
            self.cross_attention_residual = self._make_residual(
                "cross_attention_residual"
            )
            self.cross_attention_residual.build(inputs_shape)
        self._build_feed_forward(inputs_shape)

    def call(
        self,
        inputs,
        memory=None,
        padding_mask=None,
        memory_padding_mask=None,
        attention_mask=None,
        memory_attention_mask=None,
        mask=None,
        memory_mask=None,
        use_causal_mask=True,
        return_attention_scores=False,
        training=None,
        attention_bias=None,
        positions=None,
    ):
        """Decode whole sequences. All masks that are given apply together.

        Args:
            inputs: (batch, target, width).
            memory: (batch, source, memory width), the encoder's output.
            padding_mask: boolean (batch, target), True at real positions.
            memory_padding_mask: boolean (batch, source), True at real positions.
            attention_mask: boolean (batch, target, target), or with a heads axis
                after the batch's; True = may attend.
            memory_attention_mask: boolean (batch, target, source), or with a heads
                axis.
            mask: boolean (batch, target), the inputs' Keras mask; filled in by Keras.
            memory_mask: boolean (batch, source), the memory's Keras mask; filled in
                by Keras.
            use_causal_mask: whether a position sees only itself and those before it.
            return_attention_scores: whether to return the scores as well.
            training: whether dropout is on.
            attention_bias: added to the self-attention scores, floating point (batch,
                target, target), or with a heads axis.
            positions: int32 (batch, target), where the rows don't count from 0, see
                `MultiHeadAttention.call`.

        Returns:
            (batch, target, width); or the triple of it, the self-attention scores
            (batch, heads, target, target) and the cross-attention scores (batch,
            heads, target, source) - a pair if there is no cross-attention. What stands
            at padded positions is not defined, and does not reach real ones.
        """
        self._check_memory(memory)
        real = real_positions(padding_mask, mask)
        options = {
            "return_attention_scores": return_attention_scores,
            "training": training,
        }
        x, scores = self._attend(
            self.self_attention,
            self.self_attention_residual,
            inputs,
            key_mask=real,
            attention_mask=attention_mask,
            attention_bias=attention_bias,
            positions=positions,
            use_causal_mask=use_causal_mask,
            **options,
        )
        if self.has_cross_attention:
            x, more = self._attend(
                self.cross_attention,
                self.cross_attention_residual,
                x,
                memory,
                key_mask=real_positions(memory_padding_mask, memory_mask, "memory_"),
                attention_mask=as_attention_mask(
                    memory_attention_mask, "memory_attention_mask"
                ),
                **options,
            )
            scores += more
        x = self._transform(x, real, training)
        return (x, *scores) if return_attention_scores else x

    def start(self, memory=None, max_length=None, *, batch_size=None, hypotheses=1):
        """Make the cache for `step`.

        The memory's keys and values are projected here, once.

        Args:
            memory: (sources, source, memory width); `None` without cross-attention.
            max_length: number of target positions that the cache can hold.
            batch_size: number of sources where there is no memory.
            hypotheses: number of hypotheses of each source, adjacent rows in `step`.

        Returns:
            A dictionary of `"self"` and, with cross-attention, `"cross"`; each holds
            `"key"`, a list of blocks (sources, heads, key_dim, slots), and `"value"`,
            a list of blocks (sources, heads, slots, value_dim). A slot is a position
            of the memory, or one of the target for each hypothesis.
        """
        if not self.built:
            raise ValueError(
                "A block must be built before `start`: call it once, or `build` it. "
                f"Received: {self.name}, not built."
            )
        check_positive_integer("hypotheses", hypotheses)
        self._check_memory(memory)
        if memory is None and batch_size is None:
            raise ValueError(
                "`batch_size` is needed where there is no `memory`. "
                "Received: batch_size=None."
            )
        sources = ops.shape(memory)[0] if batch_size is None else batch_size
        cache = {
            "self": empty_cache(self.self_attention, sources, max_length, hypotheses)
        }
        if self.has_cross_attention:
            memory = ops.cast(memory, self.compute_dtype)
            projected = self.cross_attention.project_key_value(memory)
            cross = laid_out(*projected)
            cache["cross"] = {name: [block] for name, block in cross.items()}
        return cache

    def step(
        self,
        x,
        cache,
        index,
        *,
        padding_mask=None,
        memory_padding_mask=None,
        hypotheses=1,
        lineage=None,
        return_attention_scores=False,
    ):
        """Decode the next position, or the next few.

        Args:
            x: (rows, new, width), the new positions; `rows` is `sources * hypotheses`.
            cache: from `start` or the step before.
            index: position of the first new row, an integer or integer scalar tensor.
            padding_mask: boolean (rows, max_length) over all cached positions, True
                at real ones; for sequences padded on the left.
            memory_padding_mask: boolean (sources, source), True at real positions.
            hypotheses: number of adjacent rows of `x` for each source, as in `start`.
            lineage: int32 (rows, max_length), the hypothesis of the same source that
                wrote the position, for a search that goes on from some hypotheses
                several times. If not given, each wrote its own.
            return_attention_scores: whether to return the scores as well.

        Returns:
            `(y, cache)`, or `(y, cache, scores)` with a tuple of the self- and
            cross-attention scores, (rows, heads, new, max_length) and (rows, heads,
            new, source). A step past the end of the cache is an error where `index`
            is known. In a compiled function it never lands in another slot:
            TensorFlow stops with an error, XLA makes `y` NaN.
        """
        x = ops.cast(x, self.compute_dtype)
        rows, new = ops.shape(x)[:2]
        around, attention = self.self_attention_residual, self.self_attention
        entered = around.enter(x)
        projected = attention.project_key_value(entered, offset=index)
        stored = write_cache(cache["self"], *projected, index, hypotheses)
        max_length = max_length_of(stored, hypotheses)
        if lineage is None:
            lineage = own_line(rows, max_length, hypotheses)
        check_lineage(lineage, rows, max_length)
        mask = visible_slots(lineage, index, new, hypotheses, padding_mask, self.window)
        update, scores = attend_passed(
            attention,
            entered,
            stored,
            index,
            mask=mask,
            hypotheses=hypotheses,
            return_attention_scores=return_attention_scores,
        )
        y, all_scores = around(x, update), [scores]
        if self.has_cross_attention:
            update, scores = attend_cached(
                self.cross_attention,
                self.cross_attention_residual.enter(y),
                cache["cross"],
                mask=key_mask(memory_padding_mask, "memory_padding_mask"),
                hypotheses=hypotheses,
            )
            y = self.cross_attention_residual(y, update)
            all_scores.append(scores)
        y = stop_at_overflow(self._transform(y), max_length, index)
        cache = {**cache, "self": stored}
        if not return_attention_scores:
            return y, cache
        return y, cache, scores_by_row(all_scores, hypotheses, new)

    def _check_memory(self, memory):
        if self.has_cross_attention != (memory is not None):
            received = None if memory is None else tuple(memory.shape)
            raise ValueError(
                f"A block with `cross_attention={self.has_cross_attention}` "
                f"{'needs' if self.has_cross_attention else 'takes no'} `memory`. "
                f"Received: memory={received}."
            )

    def compute_output_shape(self, inputs_shape, memory_shape=None):
        """Shape of the inputs."""
        return inputs_shape

    def compute_output_spec(
        self, inputs, memory=None, return_attention_scores=False, **kwargs
    ):
        """Symbolic output: a tensor, or a tuple of output and scores."""
        self._check_memory(memory)
        for name in ("padding_mask", "memory_padding_mask"):
            as_padding_mask(kwargs.get(name), name)
        for name in ("attention_mask", "memory_attention_mask"):
            as_attention_mask(kwargs.get(name), name)
        as_attention_bias(kwargs.get("attention_bias"))
        check_bias(self.attention, kwargs.get("attention_bias"))
        as_positions(kwargs.get("positions"), inputs.shape)
        output = keras.KerasTensor(inputs.shape, dtype=self.compute_dtype)
        if not return_attention_scores:
            return output
        batch, length = inputs.shape[:2]
        key_lengths = [length] if memory is None else [length, memory.shape[1]]
        return output, *(
            keras.KerasTensor(
                (batch, self.num_heads, length, keys), dtype=self.compute_dtype
            )
            for keys in key_lengths
        )

    def get_config(self):
        """Return the constructor's arguments."""
        return {**super().get_config(), "cross_attention": self.has_cross_attention}
