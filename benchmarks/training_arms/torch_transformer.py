"""PyTorch's `nn.Transformer` between tied embeddings, eager or compiled."""

import math
import shutil

import torch
from torch import nn
from torch.nn import functional

from benchmarks.training_arms.torch_loop import TorchTrainer
from benchmarks.training_task import DROPOUT


class TorchTransformer(nn.Module):
    """`nn.Transformer` with one table of source, target and output.

    Args:
        task: a `TrainingTask`.
    """

    def __init__(self, task):
        super().__init__()
        size = task.model
        width = size["hidden_dim"]
        self.scale = math.sqrt(width)
        self.embedding = nn.Embedding(size["vocabulary_size"], width)
        nn.init.normal_(self.embedding.weight, std=1 / self.scale)
        self.dropout = nn.Dropout(DROPOUT)
        self.transformer = nn.Transformer(
            width,
            size["num_heads"],
            size["num_layers"],
            size["num_layers"],
            size["intermediate_dim"],
            DROPOUT,
            batch_first=True,
        )
        self.register_buffer("positions", _sinusoids(task.length, width))
        mask = nn.Transformer.generate_square_subsequent_mask(task.length)
        self.register_buffer("causal_mask", mask)

    def forward(self, source_ids, target_ids, labels):
        """Return the mean cross-entropy."""
        x = self.transformer(
            self._embed(source_ids),
            self._embed(target_ids),
            tgt_mask=self.causal_mask,
            tgt_is_causal=True,
        )
        logits = functional.linear(x, self.embedding.weight)
        return functional.cross_entropy(logits.flatten(0, 1), labels.flatten())

    def _embed(self, ids):
        return self.dropout(self.embedding(ids) * self.scale + self.positions)


def _sinusoids(length, width):
    """Return the paper's positions (length, width), sines before cosines."""
    rates = 10000.0 ** (-torch.arange(0, width, 2) / width)
    angles = torch.arange(length)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def torch_trainer(task, compiled=False):
    """Make a trainer of `TorchTransformer`.

    Args:
        task: a `TrainingTask`.
        compiled: whether `torch.compile` compiles the model.
    """
    if compiled and not shutil.which("g++"):
        raise RuntimeError("torch.compile needs a C++ compiler, g++")
    module = TorchTransformer(task)
    return TorchTrainer(module, torch.compile(module) if compiled else module, task)
