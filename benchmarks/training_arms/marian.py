"""The Marian model of the transformers library."""

from transformers import MarianConfig, MarianMTModel

from benchmarks.decoding_task import END, PAD, START
from benchmarks.training_arms.torch_loop import TorchTrainer
from benchmarks.training_task import DROPOUT


def marian_trainer(task):
    """Make a trainer of `MarianMTModel` with labels, in a plain loop.

    Args:
        task: a `TrainingTask`.
    """
    size = task.model
    layers, heads = size["num_layers"], size["num_heads"]
    config = MarianConfig(
        vocab_size=size["vocabulary_size"],
        d_model=size["hidden_dim"],
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=size["intermediate_dim"],
        decoder_ffn_dim=size["intermediate_dim"],
        activation_function="relu",
        max_position_embeddings=task.length,
        scale_embedding=True,
        dropout=DROPOUT,
        attention_dropout=DROPOUT,
        activation_dropout=0.0,
        pad_token_id=PAD,
        eos_token_id=END,
        forced_eos_token_id=None,
        decoder_start_token_id=START,
        use_cache=False,
    )
    model = MarianMTModel(config)

    def loss_of(source_ids, target_ids, labels):
        return model(
            input_ids=source_ids, decoder_input_ids=target_ids, labels=labels
        ).loss

    return TorchTrainer(model, loss_of, task)
