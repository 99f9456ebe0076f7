"""Pictures of attention maps."""

import gc
import importlib
import itertools
import sys
import warnings
import weakref

import numpy as np
import pytest

from keras_transformer.visualization import AttentionMaps, plot_attention
from tests.translators import small_model
from tests.visualization.some_maps import some_maps

pytestmark = pytest.mark.tensorflow_only
matplotlib = pytest.importorskip("matplotlib")
PREDICTED = ["zwei", "hun", "-de", "lau", "-fen", "</s>"]
READ = ["<s>", "zwei", "hun", "-de", "lau", "-fen"]
SOURCE = ["two", "dogs", "run", "</s>"]


def panels(figure):
    return [axes for axes in figure.axes if axes.images]


def texts(labels):
    return [label.get_text() for label in labels]


def draw(figure):
    """Draw all of a figure, with warnings as errors; return the PNG."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return figure._repr_png_()


def right_of(axes):
    (second,) = axes.child_axes
    return second


def test_one_head_with_tokens_at_all_sides():
    maps = some_maps()
    figure = plot_attention(maps, layer=1, head=2)
    (axes,) = panels(figure)
    np.testing.assert_array_equal(axes.images[0].get_array(), maps.cross[1, 2])
    assert axes.images[0].get_clim() == (0, 1)
    assert texts(axes.get_yticklabels()) == PREDICTED
    assert texts(axes.get_xticklabels()) == SOURCE
    assert texts(right_of(axes).get_yticklabels()) == READ
    assert axes.get_ylabel() == "predicted next, looking"
    assert axes.get_xlabel() == "source, looked at"
    assert right_of(axes).get_ylabel() == "read just before"
    assert figure.get_suptitle() == "Cross-attention, layer 1, head 2"
    assert figure.axes[-1].get_ylabel() == "weight"


def test_rows_go_down_and_columns_to_the_right():
    figure = plot_attention(some_maps(), layer=0, head=0)
    draw(figure)
    (axes,) = panels(figure)
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    assert left < right
    assert bottom > top
    assert right_of(axes).get_ylim() == (bottom, top)


def test_the_decoder_looks_at_what_it_has_read():
    axes = panels(plot_attention(some_maps(), "decoder", layer=0, head=0))[0]
    assert texts(axes.get_yticklabels()) == PREDICTED
    assert texts(axes.get_xticklabels()) == READ
    assert axes.get_xlabel() == "read so far, looked at"


def test_the_encoder_has_the_source_on_both_sides():
    figure = plot_attention(some_maps(), "encoder", layer=0, head=0)
    (axes,) = panels(figure)
    assert texts(axes.get_yticklabels()) == texts(axes.get_xticklabels()) == SOURCE
    assert axes.child_axes == []
    assert figure.get_suptitle() == "Encoder self-attention, layer 0, head 0"


def test_a_layer_is_a_grid_of_its_heads():
    maps = some_maps(heads=4)
    figure = plot_attention(maps, layer=1)
    grid = panels(figure)
    assert [axes.get_title() for axes in grid] == [f"head {i}" for i in range(4)]
    for head, axes in enumerate(grid):
        np.testing.assert_array_equal(axes.images[0].get_array(), maps.cross[1, head])
    assert figure.get_suptitle() == "Cross-attention, layer 1"
    left = [texts(axes.get_yticklabels()) for axes in grid]
    below = [texts(axes.get_xticklabels()) for axes in grid]
    right = [
        [texts(second.get_yticklabels()) for second in axes.child_axes] for axes in grid
    ]
    assert left == [PREDICTED, [], PREDICTED, []]
    assert below == [[], [], SOURCE, SOURCE]
    assert right == [[], [READ], [], [READ]]


def test_an_overview_has_the_mean_of_each_layer_and_says_so():
    maps = some_maps(layers=3)
    figure = plot_attention(maps)
    assert figure.get_suptitle() == "Cross-attention, mean of 3 heads"
    for layer, axes in enumerate(panels(figure)):
        mean = maps.cross[layer].mean(axis=0)
        np.testing.assert_allclose(axes.images[0].get_array(), mean, atol=1e-6)
        assert axes.get_title() == f"layer {layer}"


def test_an_overview_of_single_heads_is_no_mean():
    figure = plot_attention(some_maps(heads=1))
    assert figure.get_suptitle() == "Cross-attention"


@pytest.mark.parametrize(("vmax", "top"), [(None, "largest"), (0.25, 0.25)])
def test_the_scale_can_end_below_one_and_says_so(vmax, top):
    maps = some_maps()
    figure = plot_attention(maps, layer=0, vmax=vmax)
    largest = float(maps.cross[0].max())
    for axes in panels(figure):
        wanted = largest if top == "largest" else top
        assert axes.images[0].get_clim() == pytest.approx((0, wanted))
    bar = panels(figure)[-1].images[0].colorbar
    assert bar.extend == ("neither" if vmax is None else "max")
    named = "darkest: largest shown" in bar.ax.get_ylabel()
    assert named == (vmax is None)


def test_a_title_of_ones_own_and_tokens_are_no_formulas():
    tokens = ["$\\frac$", "\\alpha"]
    figure = plot_attention(some_maps(tokens), layer=0, head=0, title="$\\frac$")
    draw(figure)
    assert figure.get_suptitle() == "$\\frac$"
    assert texts(panels(figure)[0].get_xticklabels()) == tokens


def long_maps(count, heads=1):
    words = [f"▁word{i}" for i in range(count)]
    return some_maps(words, words[:-1], layers=1, heads=heads)


def test_the_figure_grows_with_the_tokens():
    sizes = [
        plot_attention(long_maps(count), layer=0, head=0).get_size_inches()
        for count in (20, 70)
    ]
    assert (sizes[0] < sizes[1]).all()


def test_labels_of_70_tokens_have_their_places():
    figure = plot_attention(long_maps(70), layer=0, head=0)
    draw(figure)
    check_labels(figure, list(range(70)))


def test_labels_of_60_tokens_and_4_heads_have_their_places():
    figure = plot_attention(long_maps(60, heads=4), layer=0)
    draw(figure)
    check_labels(figure, list(range(60)))


def test_the_figure_has_a_bound_and_leaves_labels_out_then():
    figure = plot_attention(long_maps(400), layer=0, head=0)
    assert 35 < figure.get_size_inches().max() <= 36
    axes = panels(figure)[0]
    labels = [f"word{i}" for i in range(0, 400, 2)]
    assert texts(axes.get_xticklabels()) == labels
    assert texts(axes.get_yticklabels()) == labels
    assert axes.get_ylabel() == "predicted next, looking (1 label for 2)"
    assert axes.get_xlabel() == "source, looked at (1 label for 2)"


def check_labels(figure, columns):
    """Check that labels are in the figure, and that none overlaps the next."""
    axes = panels(figure)[-2 if len(panels(figure)) > 1 else 0]
    assert texts(axes.get_xticklabels()) == [f"word{i}" for i in columns]
    rows = [label.get_window_extent() for label in axes.get_yticklabels()]
    below = [label.get_window_extent() for label in axes.get_xticklabels()]
    assert len(rows) == len(columns)
    for upper, lower in itertools.pairwise(rows):
        assert upper.y0 > lower.y0 + 0.6 * lower.height
    for left, right in itertools.pairwise(below):
        assert left.x0 < right.x0 - 0.6 * right.width
    assert min(box.x0 for box in rows) >= 0
    assert min(box.y0 for box in below) >= 0
    assert {label.get_rotation() for label in axes.get_xticklabels()} == {90}


SCRIPTS = {
    "latin": "Fußgänger",
    "cyrillic": "находится",
    "greek": "ελληνικά",
    "arabic": "محطة",
    "hebrew": "שלום",
    "devanagari": "क्षत्रिय",
    "thai": "ไทย",
    "han": "你好",
    "kana": "どこ",
    "hangul": "한국",
    "symbol": "❤",
}


@pytest.mark.parametrize("heads", [1, 4, 5])
@pytest.mark.parametrize("part", ["encoder", "cross", "decoder"])
@pytest.mark.parametrize("count", [2, 13])
def test_no_text_reaches_beyond_the_figure(count, part, heads):
    source = [f"▁word{number}" for number in range(count)]
    maps = some_maps(source=source, target=source, heads=heads)
    figure = plot_attention(maps, part, layer=0)
    draw(figure)
    edge = figure.bbox
    for text in figure.findobj(lambda artist: bool(getattr(artist, "get_text", None))):
        if text.get_text() and text.get_visible():
            box = text.get_window_extent()
            assert edge.x0 <= box.x0, text
            assert edge.y0 <= box.y0, text
            assert box.x1 <= edge.x1, text
            assert box.y1 <= edge.y1, text


def test_characters_of_any_script_are_drawn_or_named(recwarn):
    """matplotlib would warn of a character that no font of the label has."""
    words = list(SCRIPTS.values())
    figure = plot_attention(some_maps(words, words), layer=0, head=0)
    ours = [str(warning.message) for warning in recwarn.list]
    draw(figure)
    shown = texts(panels(figure)[0].get_xticklabels())
    for word, label in zip(words, shown, strict=True):
        for character in set(word) - set(label):
            assert f"[U+{ord(character):04X}]" in label
            assert any(f"U+{ord(character):04X} (" in message for message in ours)
    assert shown[:3] == words[:3]  # matplotlib's own font has these


def test_a_character_without_a_font_is_named_once():
    private = "\U000f0000"
    maps = some_maps([f"a{private}", f"b{private}"], [private])
    with pytest.warns(UserWarning, match=r"U\+F0000 .*fonts-noto") as caught:
        figure = plot_attention(maps, layer=0, title=f"of {private}")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert texts(panels(figure)[-1].get_xticklabels()) == ["a[U+F0000]", "b[U+F0000]"]
    assert figure.get_suptitle() == "of [U+F0000]"


def test_an_old_matplotlib_is_named_where_a_script_goes_leftwards(monkeypatch):
    monkeypatch.setattr(matplotlib, "__version__", "3.10.7")
    with pytest.warns(
        UserWarning, match=r"matplotlib 3\.10\.7 writes Arabic"
    ) as caught:
        plot_attention(some_maps(["שלום"]), layer=0, head=0)
    assert len(caught) >= 1
    assert caught[0].filename == __file__
    plot_attention(some_maps(["Слово"]), layer=0, head=0)  # no warning


def test_pyplot_knows_nothing_of_a_figure_and_it_goes():
    from matplotlib import pyplot

    figure = weakref.ref(plot_attention(some_maps(), layer=0, head=0))
    assert pyplot.get_fignums() == []
    gc.collect()
    assert figure() is None


def test_notebooks_show_a_figure():
    figure = plot_attention(some_maps(), layer=0, head=0)
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_matplotlib_is_needed_for_pictures_only(monkeypatch):
    name = "keras_transformer.visualization"
    for module in [module for module in sys.modules if module.startswith(name)]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    fresh = importlib.import_module(name)
    maps = some_maps()
    assert fresh.attention_html(maps)
    for plot, argument in (
        ("plot_attention", maps),
        ("plot_training", {"loss": [1.0]}),
        ("plot_architecture", small_model()),
    ):
        with pytest.raises(ImportError, match=f"`{plot}` needs .*pip install matplot"):
            getattr(fresh, plot)(argument)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"part": "both"}, "`part` must be"),
        ({"layer": 2}, "`layer` must be an integer from 0 to 1. Received: 2"),
        ({"layer": -1}, "`layer` must be an integer from 0 to 1. Received: -1"),
        ({"layer": 0, "head": 3}, "`head` must be an integer from 0 to 2. Received: 3"),
        ({"layer": 0, "head": 0.5}, "`head` must be an integer .* Received: 0.5"),
        ({"layer": True}, "`layer` must be an integer .* Received: True"),
        ({"head": 1}, "`head` needs a `layer`. Received: head=1"),
        ({"vmax": 0}, r"`vmax` must be in \(0, 1\], or None. Received: 0"),
        ({"vmax": 1.5}, r"`vmax` must be in \(0, 1\], or None. Received: 1.5"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        plot_attention(some_maps(), **options)


def test_maps_that_fit_no_tokens_are_refused():
    even = np.full((1, 1, 2, 2), 0.5)
    maps = AttentionMaps(["a"], ["b", "c"], ["c", "d"], even, even, even)
    with pytest.raises(ValueError, match=r"`maps\.encoder` must have the shape"):
        plot_attention(maps)


def test_very_long_tokens_end_with_an_ellipsis():
    figure = plot_attention(some_maps(["w" * 300, "b"]), layer=0, head=0)
    draw(figure)
    label = panels(figure)[0].get_xticklabels()[0]
    assert label.get_text() == "w" * 40 + "\N{HORIZONTAL ELLIPSIS}"
    assert label.get_window_extent().y0 >= 0
