"""This library: `Transformer` and `SmoothedCrossEntropy`, on any backend."""

from benchmarks.training_arms.keras_fit import BareKerasTrainer, KerasTrainer
from benchmarks.training_task import DROPOUT
from keras_transformer import SmoothedCrossEntropy, Transformer


def our_trainer(task, bare=False, attention_dropout=DROPOUT, dtype=None):
    """Make a trainer of a `Transformer`.

    Args:
        task: a `TrainingTask`.
        bare: whether to call the train function without `fit`.
        attention_dropout: as for `Transformer`.
        dtype: as for `Transformer`.
    """
    model = Transformer(
        **task.model, dropout=DROPOUT, attention_dropout=attention_dropout, dtype=dtype
    )
    trainer = BareKerasTrainer if bare else KerasTrainer
    return trainer(model, task, SmoothedCrossEntropy())
