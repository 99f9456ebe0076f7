"""Small models of the kinds that the paper compares with, and what they compute."""

import numpy as np

from keras_transformer import ConvolutionalSeq2Seq, RecurrentSeq2Seq
from tests.attention.formulas import weight
from tests.models.formulas import embed

SMALL = {"num_layers": (1, 2), "hidden_dim": 12, "dropout": 0.0}


def small(kind, options, **more):
    return kind(20, **{**SMALL, **more, **options})


KINDS = {
    "lstm": lambda **options: small(RecurrentSeq2Seq, options),
    "gru": lambda **options: small(RecurrentSeq2Seq, options, cell="gru"),
    "convolutional": lambda **options: small(ConvolutionalSeq2Seq, options),
}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, mask):
    x = np.where(mask, x, -np.inf)
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def dense(layer, x):
    return x @ weight(layer.kernel) + weight(layer.bias)


def lstm_cell(cell, x, states):
    h, c = states
    z = x @ weight(cell.kernel) + h @ weight(cell.recurrent_kernel) + weight(cell.bias)
    i, f, g, o = np.split(z, 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return [sigmoid(o) * np.tanh(c), c]


def gru_cell(cell, x, states):
    (h,) = states
    bias = weight(cell.bias)
    x = np.split(x @ weight(cell.kernel) + bias[0], 3, axis=-1)
    s = np.split(h @ weight(cell.recurrent_kernel) + bias[1], 3, axis=-1)
    z, r = sigmoid(x[0] + s[0]), sigmoid(x[1] + s[1])
    return [z * h + (1 - z) * np.tanh(x[2] + r * s[2])]


def read(run, cell, rows, number, width):
    """States after each of `rows` (length, width), and the last."""
    states, found = [np.zeros(width)] * number, []
    for row in rows:
        states = run(cell, row, states)
        found.append(states[0])
    return np.array(found), states[0]


def additive(layer, query, memory):
    hidden = query @ weight(layer.query_dense.kernel) + dense(layer.key_dense, memory)
    scores = np.tanh(hidden) @ weight(layer.scale)
    return softmax(scores, True) @ memory


def recurrent(model, source, target):
    """Logits of one pair of sentences without padding."""
    parts, width = model.parts, model.options["hidden_dim"]
    run, number = {"lstm": (lstm_cell, 2), "gru": (gru_cell, 1)}[model.options["cell"]]
    x = weight(parts.source_embedding.embeddings)[source] * np.sqrt(width)
    summary = None
    for layer in parts.encoder_layers:
        ways = layer.forward_layer.cell, layer.backward_layer.cell
        there, _ = read(run, ways[0], x, number, width)
        back, summary = read(run, ways[1], x[::-1], number, width)
        x = np.concatenate([there, back[::-1]], axis=-1)
    decoder, memory = parts.decoder, x
    cells = [decoder.attentive_cell.cell, *(layer.cell for layer in decoder.others)]
    first = np.split(np.tanh(dense(decoder.first_state, summary)), number * len(cells))
    states = [first[i : i + number] for i in range(0, len(first), number)]
    table, logits = weight(parts.target_embedding.embeddings), []
    for token in target:
        given = table[token] * np.sqrt(width)
        context = additive(decoder.attentive_cell.attention, states[0][0], memory)
        y = given
        for i, cell in enumerate(cells):
            states[i] = run(cell, np.concatenate([y, context]), states[i])
            y = states[i][0]
        seen = np.concatenate([y, context, given])
        y = np.tanh(dense(decoder.output_dense, seen))
        logits.append(weight(parts.output_embedding.embeddings) @ y)
    return np.array(logits)


def glu(layer, x, causal):
    """The sum over a window, position by position: x (length, width)."""
    kernel, outputs = weight(layer.kernel), []
    size = len(kernel)
    first = size - 1 if causal else (size - 1) // 2
    for i in range(len(x)):
        total = weight(layer.bias).copy()
        for j in range(size):
            if 0 <= i + j - first < len(x):
                total = total + x[i + j - first] @ kernel[j]
        a, b = np.split(total, 2)
        outputs.append(a * sigmoid(b))
    return np.array(outputs)


def convolutional(model, source, target):
    """Logits of one pair of sentences without padding, positions are sinusoids."""
    parts, half = model.parts, np.sqrt(0.5)
    e = embed(parts.source_embedding.embeddings, source[None])[0]
    z = e
    for block in parts.encoder_blocks:
        z = (z + glu(block.convolution, z, causal=False)) * half
    g = embed(parts.target_embedding.embeddings, target[None])[0]
    x = g
    for block in parts.decoder_blocks:
        h = glu(block.convolution, x, causal=True)
        query = (dense(block.query_dense, h) + g) * half
        context = softmax(query @ z.T / np.sqrt(z.shape[1]), True) @ ((z + e) * half)
        context = dense(block.context_dense, context * np.sqrt(len(source)))
        x = (x + (h + context) * half) * half
    return x @ weight(parts.output_embedding.embeddings).T


FORMULAS = {"lstm": recurrent, "gru": recurrent, "convolutional": convolutional}
