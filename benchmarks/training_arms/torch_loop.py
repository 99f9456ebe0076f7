"""A plain training loop of PyTorch."""

import torch

from benchmarks.matrix_peak import SIZE, matrix_peak
from benchmarks.quiet import core_count
from benchmarks.training_task import LEARNING_RATE


class TorchTrainer:
    """Trains a module with Adam, whose fused kernel is the fastest.

    Args:
        module: a `torch.nn.Module`.
        loss_of: function of source ids, target ids and labels to the loss.
        task: a `TrainingTask`.
    """

    def __init__(self, module, loss_of, task):
        torch.set_num_threads(core_count())
        module.train()
        self._loss_of = loss_of
        self._optimizer = torch.optim.Adam(
            module.parameters(), lr=LEARNING_RATE, fused=True
        )
        inputs, labels = task.batches()
        arrays = inputs["source_ids"], inputs["target_ids"], labels
        tensors = [torch.tensor(array).long() for array in arrays]
        self._batches = list(zip(*tensors, strict=True))
        # Its matrix library is slow on some CPUs, which readers should know.
        speed = matrix_peak(torch.mm, torch.rand(SIZE, SIZE))
        self.about = {"matrix product GFLOP/s": round(speed)}

    def __call__(self):
        """Train on all batches once, and return the last loss."""
        loss = torch.tensor(0.0)
        for batch in self._batches:
            self._optimizer.zero_grad()
            loss = self._loss_of(*batch)
            loss.backward()
            self._optimizer.step()
        return loss.item()
