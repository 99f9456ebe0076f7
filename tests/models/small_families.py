"""Small models of each family but the encoder-decoder, and inputs for them."""

import numpy as np

from keras_transformer import (
    Encoder,
    ImageClassifier,
    LanguageModel,
    MaskedLanguageModel,
    TextClassifier,
)

SIZE = {
    "num_layers": 1,
    "hidden_dim": 16,
    "num_heads": 2,
    "intermediate_dim": 24,
    "dropout": 0.0,
    "attention_dropout": 0.0,
}
IDS = np.array([[2, 5, 6, 7, 8], [2, 9, 10, 0, 0], [3, 0, 0, 0, 0]], "int32")
SEGMENTS = np.array([[0, 0, 1, 1, 1], [0, 1, 1, 0, 0], [1, 0, 0, 0, 0]], "int32")
IMAGES = np.random.default_rng(4).normal(size=(3, 4, 6, 2)).astype("float32")


def small_encoder(**options):
    position = options.get("position", "learned")
    length = {"max_length": 9} if position == "learned" else {}
    return Encoder(20, **{**SIZE, **length, **options})


def small_masked_model(**options):
    return MaskedLanguageModel(small_encoder(**options))


def small_text_classifier(pooling="first", pooler=True, **options):
    encoder = small_encoder(num_segments=2, **options)
    return TextClassifier(encoder, 3, pooling=pooling, pooler=pooler, dropout=0.0)


def small_language_model(**options):
    position = options.get("position", "learned")
    length = {"max_length": 12} if position == "learned" else {}
    return LanguageModel(20, **{**SIZE, **length, **options})


def small_image_classifier(**options):
    image = {"image_size": (4, 6), "channels": 2, "patch_size": 2}
    return ImageClassifier(3, **{**SIZE, **image, **options})


def inputs_of(model):
    """Inputs that the model takes."""
    if isinstance(model, ImageClassifier):
        return IMAGES
    if isinstance(model.input, dict):
        return {"token_ids": IDS, "segment_ids": SEGMENTS}
    return IDS


FAMILIES = {
    "encoder": small_encoder,
    "masked": small_masked_model,
    "text": small_text_classifier,
    "language": small_language_model,
    "image": small_image_classifier,
}
