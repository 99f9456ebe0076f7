"""Models of the transformers library, with the same weights, answer alike."""

import keras
import numpy as np
import pytest

from keras_transformer import (
    Encoder,
    GreedySearch,
    ImageClassifier,
    LanguageModel,
    MaskedLanguageModel,
    TextClassifier,
)
from keras_transformer.decoding import ContinuationGenerator
from tests.backends import array_of, assert_close
from tests.models.transformers_weights import (
    copy_bert,
    copy_gpt2,
    copy_vit,
    randomized,
)

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

IDS = np.array([[5, 6, 7, 8, 9], [10, 11, 12, 0, 0], [13, 0, 0, 0, 0]], "int32")
SEGMENTS = np.array([[0, 0, 1, 1, 1], [0, 1, 1, 0, 0], [1, 0, 0, 0, 0]], "int32")
REAL = IDS != 0
INPUTS = {"token_ids": IDS, "segment_ids": SEGMENTS}
SIZE = {"num_layers": 2, "hidden_dim": 12, "num_heads": 3, "intermediate_dim": 20}
PRECISE = {"atol": 1e-5, "rtol": 1e-4}


@keras.saving.register_keras_serializable(package="tests")
def gelu_tanh(x):
    return keras.activations.gelu(x, approximate=True)


def bert_config(**options):
    return transformers.BertConfig(
        vocab_size=25, hidden_size=12, num_hidden_layers=2, num_attention_heads=3,
        intermediate_size=20, max_position_embeddings=9, pad_token_id=0, **options,
    )  # fmt: skip


def encoder():
    return Encoder(25, **SIZE, num_segments=2, max_length=9)


def theirs_of(model, output, **inputs):
    tensors = {
        name: torch.tensor(array, dtype=torch.long, device="cpu")
        for name, array in inputs.items()
    }
    with torch.no_grad():
        return getattr(model.cpu()(**tensors), output).numpy()


def bert_output(model, output):
    return theirs_of(
        model, output, input_ids=IDS, token_type_ids=SEGMENTS, attention_mask=REAL
    )


def test_bert_model():
    theirs = randomized(transformers.BertModel(bert_config()))
    model = encoder()
    copy_bert(theirs, model)
    expected = bert_output(theirs, "last_hidden_state")
    assert_close(
        array_of(model.predict_on_batch(INPUTS))[REAL], expected[REAL], **PRECISE
    )


def test_bert_for_masked_tokens():
    theirs = randomized(transformers.BertForMaskedLM(bert_config()))
    model = MaskedLanguageModel(encoder())
    weights = copy_bert(theirs, model.encoder)
    weights.dense(model.get_layer("transform"), r"transform\.dense")
    weights.norm(model.get_layer("transform_norm"), r"transform\.LayerNorm")
    model.get_layer("output_bias").bias.assign(weights(r"predictions\.bias"))
    expected = bert_output(theirs, "logits")
    assert_close(
        array_of(model.predict_on_batch(INPUTS))[REAL], expected[REAL], **PRECISE
    )


def test_bert_for_sequences():
    theirs = transformers.BertForSequenceClassification(bert_config(num_labels=4))
    theirs = randomized(theirs)
    model = TextClassifier(encoder(), 4)
    weights = copy_bert(theirs, model.encoder)
    weights.dense(model.get_layer("pooler"), r"pooler\.dense")
    weights.dense(model.get_layer("classes"), "classifier")
    assert_close(
        model.predict_on_batch(INPUTS), bert_output(theirs, "logits"), **PRECISE
    )


@pytest.fixture
def gpt2():
    config = transformers.GPT2Config(
        vocab_size=25, n_embd=12, n_layer=2, n_head=3, n_inner=20, n_positions=14,
        bos_token_id=1, eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    theirs = randomized(transformers.GPT2LMHeadModel(config))
    model = LanguageModel(25, **SIZE, max_length=14, activation=gelu_tanh)
    copy_gpt2(theirs, model)
    return theirs, model


def test_gpt2_logits(gpt2):
    theirs, model = gpt2
    expected = theirs_of(theirs, "logits", input_ids=IDS, attention_mask=REAL)
    assert_close(
        array_of(model.predict_on_batch(IDS))[REAL],
        expected[REAL],
        atol=1e-4,
        rtol=1e-4,
    )


def test_gpt2_greedy_continuations_of_prompts_of_different_lengths(gpt2):
    theirs, model = gpt2
    to_the_left = np.array([[5, 6, 7, 8, 9], [0, 0, 10, 11, 12], [0, 0, 0, 0, 13]])
    ids = torch.tensor(to_the_left, dtype=torch.long, device="cpu")
    expected = theirs.generate(
        ids, attention_mask=(ids != 0).long(), max_new_tokens=8, do_sample=False,
        bad_words_ids=[[0]],
    )[:, 5:].numpy()  # fmt: skip
    generator = ContinuationGenerator(model, GreedySearch(), max_new_tokens=8)
    found = generator.predict_on_batch(IDS)["ids"][:, 0]
    np.testing.assert_array_equal(found[:, : expected.shape[1]], expected)
    assert (found[:, expected.shape[1] :] == 0).all()


def test_vit():
    config = transformers.ViTConfig(
        hidden_size=12, num_hidden_layers=2, num_attention_heads=3,
        intermediate_size=20, image_size=(8, 12), patch_size=4, num_channels=2,
        num_labels=5, layer_norm_eps=1e-6,
    )  # fmt: skip
    theirs = randomized(transformers.ViTForImageClassification(config)).cpu()
    model = ImageClassifier(5, **SIZE, image_size=(8, 12), channels=2, patch_size=4)
    copy_vit(theirs, model)
    images = np.random.default_rng(2).normal(size=(3, 8, 12, 2)).astype("float32")
    with torch.no_grad():
        pixels = torch.tensor(images.transpose(0, 3, 1, 2), device="cpu")
        expected = theirs(pixels).logits.numpy()
    assert_close(model.predict_on_batch(images), expected, **PRECISE)
