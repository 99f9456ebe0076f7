"""KerasHub's encoder and decoder blocks, with one tied table of embeddings."""

import keras
import keras_hub

from benchmarks.training_arms.keras_fit import KerasTrainer
from benchmarks.training_task import DROPOUT


def kerashub_trainer(task, **options):
    """Make a trainer of the paper's model from KerasHub's layers.

    Args:
        task: a `TrainingTask`.
        **options: of `KerasTrainer`.
    """
    size, layers = task.model, keras_hub.layers
    width = size["hidden_dim"]
    block = {
        "intermediate_dim": size["intermediate_dim"],
        "num_heads": size["num_heads"],
        "dropout": DROPOUT,
        "normalize_first": False,
    }
    embedding = layers.ReversibleEmbedding(size["vocabulary_size"], width)
    position = layers.SinePositionEncoding()

    def embed(ids):
        x = embedding(ids) * width**0.5
        return keras.layers.Dropout(DROPOUT)(x + position(x))

    source = keras.Input((None,), dtype="int32", name="source_ids")
    target = keras.Input((None,), dtype="int32", name="target_ids")
    memory, x = embed(source), embed(target)
    for _ in range(size["num_layers"]):
        memory = layers.TransformerEncoder(**block)(memory)
    for _ in range(size["num_layers"]):
        x = layers.TransformerDecoder(**block)(x, memory)
    logits = embedding(x, reverse=True)
    model = keras.Model({"source_ids": source, "target_ids": target}, logits)
    return KerasTrainer(model, task, **options)
