"""A recurrent cell that looks at a memory before each step."""

from contextlib import contextmanager
from contextvars import ContextVar

import keras
from keras import ops

from keras_transformer.layers.additive_attention import AdditiveAttention

CELLS = {"lstm": keras.layers.LSTMCell, "gru": keras.layers.GRUCell}
_shared: ContextVar = ContextVar("memory_of_the_cell")


@contextmanager
def reading(shared):
    """Let the cells that run meanwhile attend to a memory.

    Keras hands a cell an input and states. The memory is neither: as a state it would
    be copied at each step.

    Args:
        shared: what `AttentiveCell.read` takes.
    """
    token = _shared.set(shared)
    try:
        yield
    finally:
        _shared.reset(token)


class AttentiveCell(keras.layers.Layer):
    """Attend from the last state, and read what was found with the input.

    ```
    c_i = Attention(s_{i-1}, memory)
    s_i = Cell(s_{i-1}, [x_i; c_i])
    ```

    Args:
        units: width of the states and of the attention's hidden layer.
        cell: `"lstm"` or `"gru"`.
        memory_width: width of the memory.
    """

    def __init__(self, units, cell, memory_width, **kwargs):
        super().__init__(**kwargs)
        self.memory_width = memory_width
        self.attention = AdditiveAttention(
            units, dtype=self.dtype_policy, name="attention"
        )
        self.cell = CELLS[cell](units, dtype=self.dtype_policy, name="cell")
        sizes = self.cell.state_size
        self.state_size = list(sizes) if isinstance(sizes, list | tuple) else [sizes]
        self.output_size = units + memory_width

    def build(self, inputs_shape):
        """Create the weights for inputs (batch, width)."""
        batch, width = inputs_shape
        memory = (batch, None, self.memory_width)
        self.attention.build((batch, None, self.state_size[0]), memory)
        self.cell.build((batch, width + self.memory_width))

    def call(self, inputs, states, training=None):
        """Take a step within `reading`."""
        return self.read(inputs, states, _shared.get())

    def read(self, inputs, states, shared, hypotheses=1):
        """Take a step.

        Args:
            inputs: (rows, width); `rows` is `sources * hypotheses`.
            states: list of (rows, units).
            shared: dictionary of `"memory"`, (sources, source, memory width), its
                projection `"key"` and its `"padding_mask"`, or `None` for that.
            hypotheses: number of adjacent rows for each source.

        Returns:
            The new state and the context, (rows, units + memory width) together, and
            the list of new states.
        """
        mask = shared["padding_mask"]
        query = ops.reshape(states[0], (-1, hypotheses, self.state_size[0]))
        context = self.attention.attend(
            query,
            shared["key"],
            shared["memory"],
            mask=None if mask is None else mask[:, None],
        )
        context = ops.reshape(context, (-1, self.memory_width))
        inputs = ops.concatenate([inputs, context], axis=-1)
        output, states = self.cell(inputs, list(states))
        return ops.concatenate([output, context], axis=-1), list(states)
