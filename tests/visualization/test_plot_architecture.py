"""Pictures of models: what the boxes say is what the model is."""

import math

import keras
import pytest

from keras_transformer import (
    Encoder,
    LanguageModel,
    MaskedLanguageModel,
    MixtureOfExperts,
    RelativePositionBias,
    TextClassifier,
    Transformer,
)
from keras_transformer.visualization import plot_architecture
from keras_transformer.visualization.model_stacks import model_stacks

pytestmark = pytest.mark.tensorflow_only
pytest.importorskip("matplotlib")
SIZE = {"num_layers": 2, "hidden_dim": 16, "num_heads": 2, "intermediate_dim": 24}


def words(model):
    """Draw a model, and return the texts of its picture from the bottom up."""
    figure = plot_architecture(model)
    figure._repr_png_()
    (axes,) = figure.axes
    return [text.get_text() for text in axes.texts if text.get_text()]


def outside_blocks(stack):
    return [part.name for part in [*stack.before, *stack.after]]


def test_a_transformer_of_the_paper():
    model = Transformer(50, **{**SIZE, "num_layers": (3, 2)})
    encoder, decoder = model_stacks(model)
    assert [part.name for part in encoder.block] == [
        "Self-attention", "Add, normalise", "Feed-forward", "Add, normalise",
    ]  # fmt: skip
    assert [part.name for part in decoder.block] == [
        "Masked self-attention", "Add, normalise",
        "Cross-attention", "Add, normalise",
        "Feed-forward", "Add, normalise",
    ]  # fmt: skip
    assert [part.memory for part in decoder.block] == [False, False, True] + 3 * [False]
    assert outside_blocks(encoder) == ["Token embedding", "Positions, added"]
    found = words(model)
    assert found.count("same table as the source's") == 2
    times = "\N{MULTIPLICATION SIGN}"
    for text in (
        f"3 {times} EncoderBlock",
        f"2 {times} DecoderBlock",
        "PositionalEncoding",
        "2 heads of 8",
        "24 wide, relu",
        "50 tokens",
    ):
        assert text in found


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"normalize_first": True, "normalization": "rms"},
        {"tie_embeddings": "none", "position": "learned", "max_length": 9},
        {"target_vocabulary_size": 40, "position": "rotary", "num_key_value_heads": 1},
        {"feed_forward": MixtureOfExperts(3, 8, top_k=2)},
        {"position": "relative"},
        {"position": "relative", "num_layers": 1},
        {"position": RelativePositionBias(shared=False), "num_layers": (3, 2)},
    ],
)
def test_the_numbers_of_a_transformer_sum_to_its_parameters(options):
    model = Transformer(50, **{**SIZE, **options})
    total = 0
    drawn = words(model)
    for stack in model_stacks(model):
        own = sum(number(part) for part in stack.block)
        assert f"{own:,} parameters each" in drawn
        total += len(stack.blocks) * own
        total += sum(number(part) for part in [*stack.before, *stack.after])
    assert total == model.count_params()
    figure = plot_architecture(model)
    assert figure.get_suptitle().endswith(f"width 16: {total:,} parameters")


def number(part):
    return sum(math.prod(w.shape) for layer in part.layers for w in layer.weights)


def test_a_table_that_all_blocks_share_is_a_part_of_its_own():
    encoder, decoder = model_stacks(Transformer(50, **SIZE, position="relative"))
    for stack in (encoder, decoder):
        (part,) = (p for p in stack.before if p.detail == "RelativePositionBias")
        assert number(part) == 32 * 2
    own = Transformer(50, **SIZE, position=RelativePositionBias(shared=False))
    assert outside_blocks(model_stacks(own)[0]) == ["Token embedding"]


@pytest.mark.parametrize("kind", ["swiglu", "geglu", "reglu"])
def test_a_gated_network_is_named(kind):
    assert f"24 wide, {kind}" in words(Transformer(50, **SIZE, activation=kind))
    experts = MixtureOfExperts(3, 8, top_k=2, activation=kind)
    assert f"8 wide, {kind}" in " ".join(
        words(Encoder(50, **SIZE, feed_forward=experts))
    )


def test_pre_norm_normalises_first_adds_and_normalises_in_the_end():
    model = Transformer(50, **SIZE, normalize_first=True)
    encoder, decoder = model_stacks(model)
    assert [part.name for part in encoder.block] == [
        "Normalise", "Self-attention", "+", "Normalise", "Feed-forward", "+",
    ]  # fmt: skip
    assert outside_blocks(encoder)[-1] == "Normalise"
    assert outside_blocks(decoder)[-2:] == ["Normalise", "Logits"]
    assert "+" not in words(model)  # it is drawn as a circle


def test_settings_are_written_where_they_work():
    model = Transformer(
        50,
        **SIZE,
        target_vocabulary_size=40,
        position="rotary",
        num_key_value_heads=1,
        window=4,
        feed_forward=MixtureOfExperts(3, 8, top_k=2),
    )
    found = " ".join(words(model))
    assert found.count("same table as the target's") == 1
    assert found.count("2 heads of 8, 1 for keys and values") == 3
    assert found.count("RotaryEmbedding, window 4") == 2
    assert found.count("MixtureOfExperts, 2 of 3 experts, 8 wide, relu") == 2
    assert "Positions, added" not in found


def test_own_tables_are_all_named():
    found = words(Transformer(50, **SIZE, tie_embeddings="none"))
    assert found.count("50 tokens") == 3


def test_linear_attention_is_named():
    found = words(LanguageModel(50, **SIZE, position=None, attention="linear",
                                attention_dropout=0.0))  # fmt: skip
    assert "2 heads of 8, linear" in found


def test_a_language_model_is_one_stack():
    model = LanguageModel(50, **SIZE, max_length=9)
    (stack,) = model_stacks(model)
    assert [part.name for part in stack.block] == [
        "Normalise", "Masked self-attention", "+", "Normalise", "Feed-forward", "+",
    ]  # fmt: skip
    found = words(model)
    assert "same table as the embedding's" in found
    assert "LearnedPositionalEncoding, 9 positions" in found
    assert "logits of the next token" in found


@pytest.mark.parametrize("head", [TextClassifier, MaskedLanguageModel])
def test_a_head_is_what_the_model_has_besides_its_encoder(head):
    encoder = Encoder(50, **SIZE, max_length=9, num_segments=2)
    options = {"num_classes": 3} if head is TextClassifier else {}
    model = head(encoder, **options)
    found = words(model)
    besides = model.count_params() - encoder.count_params()
    assert f"{besides:,} parameters" in found
    assert f"of a {head.__name__}" in found
    assert "2 segments" in found
    assert len(words(encoder)) == len(found) - 3


def test_texts_stay_inside_their_boxes():
    model = Transformer(
        123_456, **{**SIZE, "hidden_dim": 64}, position="relative", window=1000,
        num_key_value_heads=1, feed_forward=MixtureOfExperts(3, 8, top_k=2),
    )  # fmt: skip
    figure = plot_architecture(model)
    figure._repr_png_()
    (axes,) = figure.axes
    boxes = [patch.get_window_extent() for patch in axes.patches]
    texts = [text for text in axes.texts if text.get_text()]
    extents = [text.get_window_extent() for text in texts]
    for text, extent in zip(texts, extents, strict=True):
        if text.get_ha() == "center":
            continue  # what goes in and comes out
        assert any(
            box.x0 <= extent.x0 and extent.x1 <= box.x1 and box.y0 <= extent.y0
            and extent.y1 <= box.y1 for box in boxes
        ), text.get_text()  # fmt: skip
    for i, one in enumerate(extents):
        for other in extents[i + 1 :]:
            assert not one.overlaps(other)


def test_other_models_are_refused():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    with pytest.raises(TypeError, match=r"`model` must be .*plot_model.*Sequential"):
        plot_architecture(model)
