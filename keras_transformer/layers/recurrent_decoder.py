"""A recurrent decoder that attends at each of its steps."""

import keras
from keras import ops

from keras_transformer.argument_checks import (
    check_choice,
    check_positive_integer,
    check_rate,
)
from keras_transformer.attention import real_positions
from keras_transformer.attention.masks import as_padding_mask
from keras_transformer.layers.attentive_cell import CELLS, AttentiveCell, reading
from keras_transformer.layers.byte_dropout import ByteDropout
from keras_transformer.layers.hypothesis_rows import check_rows
from keras_transformer.layers.initialization import seed_for
from keras_transformer.layers.sequence_shape import check_sequence_shape

RECURRENT = {"lstm": keras.layers.LSTM, "gru": keras.layers.GRU}


@keras.saving.register_keras_serializable(package="keras_transformer")
class RecurrentDecoder(keras.layers.Layer):
    """Recurrent layers of which the first attends to a memory, Bahdanau's decoder.

    ```
    s_0 = tanh(W_s r)
    c_i = Attention(s_{i-1}, memory)
    s_i = Cell(s_{i-1}, [x_i; c_i])
    y_i = tanh(W_y [s_i; c_i; x_i])
    ```

    What the memory says enters the next state, so that the steps run one after the
    other in training too. Further layers, if there are any, read `[s_i; c_i]` and take
    the place of `s_i`. Where the paper has a maxout before the output, this is a tanh.

    Args:
        units: width of the states, the attention's hidden layer and the output.
        cell: `"lstm"` or `"gru"`.
        num_layers: number of recurrent layers.
        dropout: share dropped in training of what each layer and the output give.
            Nothing is dropped on the way from a step to the next.
        seed: seed of the dropout.

    Raises:
        ValueError: for a size below 1, another cell or a rate outside [0, 1).

    Examples:
        >>> import numpy as np
        >>> from keras_transformer.layers import RecurrentDecoder
        >>> target = np.ones((2, 3, 8), "float32")
        >>> memory = np.ones((2, 5, 6), "float32")
        >>> tuple(RecurrentDecoder(units=8)(target, memory, memory[:, 0]).shape)
        (2, 3, 8)

    Reference: Bahdanau et al., 2015, "Neural Machine Translation by Jointly Learning
    to Align and Translate", section 3.1 and appendix A.2.
    """

    def __init__(
        self, units, *, cell="lstm", num_layers=1, dropout=0.0, seed=None, **kwargs
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.units = check_positive_integer("units", units)
        self.cell = check_choice("cell", cell, CELLS)
        self.num_layers = check_positive_integer("num_layers", num_layers)
        self.dropout = check_rate("dropout", dropout)
        self.seed = seed

    def build(self, inputs_shape, memory_shape, summary_shape):
        """Create the layers for the widths of inputs, memory and summary."""
        check_sequence_shape(inputs_shape)
        check_sequence_shape(memory_shape, "memory")
        width, seen = inputs_shape[-1], memory_shape[-1]
        part = {"dtype": self.dtype_policy}
        self.attentive_cell = AttentiveCell(
            self.units, self.cell, seen, **part, name="attentive_cell"
        )
        self.first = keras.layers.RNN(
            self.attentive_cell, return_sequences=True, **part, name="first"
        )
        self.first.build(inputs_shape)
        self.others = [
            RECURRENT[self.cell](
                self.units,
                return_sequences=True,
                use_cudnn=False,  # which no CPU could run after an export
                **part,
                name=f"layer_{i}",
            )
            for i in range(1, self.num_layers)
        ]
        for layer in self.others:
            layer.build((*inputs_shape[:-1], self.units + seen))
        states = self.num_layers * len(self.attentive_cell.state_size)
        self.first_state = keras.layers.Dense(
            states * self.units, activation="tanh", **part, name="first_state"
        )
        self.first_state.build(summary_shape)
        self.output_dense = keras.layers.Dense(
            self.units, activation="tanh", **part, name="output"
        )
        self.output_dense.build((*inputs_shape[:-1], self.units + seen + width))
        self.dropouts = [
            ByteDropout(self.dropout, seed=seed_for(self.seed, name), **part, name=name)
            for name in (f"dropout_{i}" for i in range(self.num_layers + 1))
        ]

    def call(
        self,
        inputs,
        memory,
        summary,
        memory_padding_mask=None,
        memory_mask=None,
        training=None,
    ):
        """Decode whole sequences.

        Args:
            inputs: (batch, target, width). Padding stands at the end, where no real
                position comes after it.
            memory: (batch, source, memory width), the encoder's output.
            summary: (batch, summary width), of which the first state is made.
            memory_padding_mask: boolean (batch, source), True at real positions.
            memory_mask: boolean (batch, source), the memory's Keras mask; filled in
                by Keras.
            training: whether dropout is on.

        Returns:
            (batch, target, units).
        """
        mask = real_positions(memory_padding_mask, memory_mask, "memory_")
        shared = self._shared(memory, mask)
        first, *others = self._first_states(summary)
        with reading(shared):
            # (batch, target, units + memory width)
            found = self.first(inputs, initial_state=first)
        x, context = found[..., : self.units], found[..., self.units :]
        drop, *drops = self.dropouts
        x = drop(x, training=training)
        for layer, state, drop in zip(self.others, others, drops, strict=False):
            x = layer(ops.concatenate([x, context], axis=-1), initial_state=state)
            x = drop(x, training=training)
        x = self.output_dense(ops.concatenate([x, context, inputs], axis=-1))
        return drops[-1](x, training=training)

    def start(self, memory, summary, *, memory_padding_mask=None, hypotheses=1):
        """Make the first states, and project the memory once.

        Args:
            memory: (sources, source, memory width).
            summary: (sources, summary width).
            memory_padding_mask: boolean (sources, source), True at real positions.
            hypotheses: number of hypotheses of each source, adjacent rows in `step`.

        Returns:
            `(state, shared)`: for each layer a list of states (sources * hypotheses,
            units), and what the steps share, with a row for each source.
        """
        if not self.built:
            raise ValueError(
                "A decoder must be built before `start`: call it once, or `build` it. "
                f"Received: {self.name}, not built."
            )
        check_positive_integer("hypotheses", hypotheses)
        state = self._first_states(summary)
        if hypotheses > 1:
            state = keras.tree.map_structure(
                lambda part: ops.repeat(part, hypotheses, axis=0), state
            )
        mask = real_positions(memory_padding_mask, None, "memory_")
        return state, self._shared(memory, mask)

    def step(self, x, state, shared, *, hypotheses=1):
        """Decode the next position.

        Args:
            x: (rows, 1, width); `rows` is `sources * hypotheses`.
            state: from `start` or the step before.
            shared: from `start`.
            hypotheses: number of adjacent rows of `x` for each source, as in `start`.

        Returns:
            (rows, 1, units), and the new state.

        Raises:
            ValueError: for another number of rows than that of the states, or of
                sources and hypotheses.
        """
        check_rows(x, state[0][0], shared["key"], hypotheses)
        inputs = ops.cast(x[:, 0], self.compute_dtype)
        found, first = self.attentive_cell.read(inputs, state[0], shared, hypotheses)
        y, context = found[:, : self.units], found[:, self.units :]
        states = [first]
        for layer, own in zip(self.others, state[1:], strict=True):
            y, own = layer.cell(ops.concatenate([y, context], axis=-1), own)
            states.append(list(own))
        y = self.output_dense(ops.concatenate([y, context, inputs], axis=-1))
        return y[:, None], states

    def _shared(self, memory, mask):
        memory = ops.cast(memory, self.compute_dtype)
        key = self.attentive_cell.attention.project_key(memory)
        return {"key": key, "memory": memory, "padding_mask": mask}

    def _first_states(self, summary):
        states = self.first_state(summary)
        number = len(self.attentive_cell.state_size)
        parts = [
            states[:, i * self.units : (i + 1) * self.units]
            for i in range(self.num_layers * number)
        ]
        return [parts[i : i + number] for i in range(0, len(parts), number)]

    def compute_output_shape(self, inputs_shape, memory_shape=None, summary_shape=None):
        """Shape of the inputs, with the width `units`."""
        return (*inputs_shape[:-1], self.units)

    def compute_output_spec(self, inputs, memory, summary, **kwargs):
        """Symbolic output."""
        as_padding_mask(kwargs.get("memory_padding_mask"), "memory_padding_mask")
        shape = self.compute_output_shape(inputs.shape)
        return keras.KerasTensor(shape, dtype=self.compute_dtype)

    def get_config(self):
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "units": self.units,
            "cell": self.cell,
            "num_layers": self.num_layers,
            "dropout": self.dropout,
            "seed": self.seed,
        }
