"""The model of a training run, and how it learns."""

import keras

from keras_transformer.models import Transformer
from keras_transformer.training import (
    InverseSqrtSchedule,
    SmoothedCrossEntropy,
    TokenAccuracy,
)

LONGEST_WARM_UP = 4000


def make_model(settings, vocabulary_size):
    """Return the `Transformer` of resolved settings."""
    return Transformer(
        vocabulary_size,
        num_layers=settings.num_layers,
        hidden_dim=settings.hidden_dim,
        num_heads=settings.num_heads,
        intermediate_dim=settings.intermediate_dim,
        dropout=settings.dropout,
        normalize_first=True,
        tie_embeddings="all",
    )


def compile_model(model, settings, steps):
    """Compile for a run of so many steps."""
    model.compile(
        optimizer=keras.optimizers.Adam(
            schedule_of(settings, steps), beta_2=0.98, epsilon=1e-9
        ),
        loss=SmoothedCrossEntropy(settings.label_smoothing),
        metrics=[TokenAccuracy(name="accuracy")],
        # With TensorFlow on a GPU each shape of batch would be compiled anew.
        jit_compile=keras.backend.backend() == "jax",
    )


def schedule_of(settings, steps):
    """Return the schedule of the learning rate over so many steps."""
    rate = settings.learning_rate
    warm_up = settings.warmup_steps or min(max(steps // 10, 1), LONGEST_WARM_UP)
    if settings.schedule == "inverse-sqrt":
        # Its highest rate is scale / sqrt(hidden_dim * warmup_steps).
        scale = rate * (settings.hidden_dim * warm_up) ** 0.5
        return InverseSqrtSchedule(settings.hidden_dim, warm_up, scale=scale)
    return keras.optimizers.schedules.CosineDecay(
        0.0, max(steps - warm_up, 1), warmup_target=rate, warmup_steps=warm_up
    )
