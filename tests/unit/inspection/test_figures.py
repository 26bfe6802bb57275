"""Figures show what the numbers say: right size, right tokens, same bytes again."""

import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.figure import Figure
from PIL import Image

from interlingua.errors import ModelError, OutputError
from interlingua.inspection.attention import LARGEST_SIDE, draw_attention
from interlingua.inspection.canvas import DOTS_PER_INCH, save_figure, warn_of_missing, write_figure
from interlingua.inspection.heat_map import draw_heat_map, mean_cross_attention, write_heat_map
from interlingua.inspection.legible import label_of
from interlingua.inspection.trace import AttentionMap, Trace, TraceToken, trace_translation
from interlingua.translator import Translator

TEXT = "pisica vede câinele mică."
REFERENCE = "the cat sees the small dog."


@pytest.fixture(scope="module")
def trace(translator: Translator) -> Trace:
    return trace_translation(translator, TEXT, REFERENCE)


def make_trace(source: list[str], target: list[str], layers: int = 1, heads: int = 1) -> Trace:
    """A trace of given tokens, whose weights are random rows that sum to 1."""
    random = np.random.default_rng(0)
    weights = random.dirichlet(np.ones(len(source)), (layers, heads, len(target)))
    return Trace(
        version=1,
        source_lang="xx",
        target_lang="yy",
        source="".join(source),
        target="".join(target),
        source_tokens=tuple(TraceToken(text, 0, 0, 0) for text in source),
        target_tokens=tuple(TraceToken(text, 0, 0, 0) for text in target),
        begin=TraceToken("<s>", 2, 0, 0),
        log_probabilities=(0.0,) * len(target),
        flags=(),
        attention=tuple(
            AttentionMap("cross", layer + 1, f"{layer}.cross", weights[layer].astype(np.float32))
            for layer in range(layers)
        ),
    )


def svg_texts(path: Path) -> list[str]:
    root = ElementTree.parse(path).getroot()
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


def check_files(figure: Figure, stem: Path) -> list[str]:
    """Both files are valid, as large as the figure says; return the texts of the SVG."""
    png, svg = save_figure(figure, stem)
    with Image.open(png) as image:
        image.load()
        wanted = [round(side * DOTS_PER_INCH) for side in figure.get_size_inches()]
        assert image.size == pytest.approx(wanted, abs=1)
        assert len(set(image.convert("L").tobytes())) > 8
    return svg_texts(svg)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_attention_names_every_token_layer_and_head(
    trace: Trace, kind: str, tmp_path: Path
) -> None:
    texts = check_files(draw_attention(trace, kind), tmp_path / kind)
    rows = trace.source_tokens if kind == "encoder" else trace.target_tokens
    columns = trace.target_inputs if kind == "decoder" else trace.source_tokens
    for token in (*rows, *columns):
        assert label_of(token.text) in texts
    for map in trace.maps(kind):
        for head in (1, 2):
            assert f"layer {map.layer} · head {head}" in texts
    assert any(
        text.startswith("source: ro" if kind != "decoder" else "target: en") for text in texts
    )


def test_attention_panels_hold_the_weights_in_one_scale(trace: Trace) -> None:
    figure = draw_attention(trace, "cross")
    images = [axes.images[0] for axes in figure.axes if axes.images]
    drawn = [np.asarray(image.get_array()) for image in images]
    expected = [head for map in trace.maps("cross") for head in map.weights]
    assert len(drawn) == len(expected) == 6
    for one, other in zip(drawn, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert {image.norm.vmin for image in images} == {0.0}
    assert {image.norm.vmax for image in images} == {
        float(max(map.weights.max() for map in trace.maps("cross")))
    }


def test_a_kind_that_the_model_lacks_is_refused() -> None:
    with pytest.raises(ModelError, match="no encoder attention"):
        draw_attention(make_trace(["a"], ["b"]), "encoder")


def test_the_heat_map_is_the_mean_of_the_last_layer(trace: Trace) -> None:
    mean = mean_cross_attention(trace)
    np.testing.assert_allclose(mean, trace.maps("cross")[2].weights.mean(0))
    np.testing.assert_allclose(mean.sum(-1), 1.0, atol=1e-6)
    panel = draw_heat_map(trace).axes[0]
    np.testing.assert_array_equal(np.asarray(panel.images[0].get_array()), mean)


def test_the_heat_map_names_both_languages_and_all_tokens(trace: Trace, tmp_path: Path) -> None:
    texts = check_files(draw_heat_map(trace), tmp_path / "heat-map")
    assert {"source: ro", "target: en"} <= set(texts)
    for token in (*trace.source_tokens, *trace.target_tokens):
        assert label_of(token.text) in texts


def test_write_heat_map_writes_the_file_that_was_asked_for(
    translator: Translator, tmp_path: Path
) -> None:
    path = tmp_path / "new" / "map.png"
    assert write_heat_map(translator, TEXT, path) == path
    with Image.open(path) as image:
        assert image.format == "PNG"
    assert [file.name for file in path.parent.iterdir()] == ["map.png"]


def test_another_ending_is_refused(trace: Trace, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"\.png or \.svg"):
        write_figure(draw_heat_map(trace), tmp_path / "map.gif")
    assert not list(tmp_path.iterdir())


def test_the_same_trace_gives_the_same_bytes(trace: Trace, tmp_path: Path) -> None:
    first = save_figure(draw_attention(trace, "cross"), tmp_path / "a")
    with rc_context({"font.size": 20.0, "axes.facecolor": "red", "svg.fonttype": "path"}):
        second = save_figure(draw_attention(trace, "cross"), tmp_path / "b")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


STRANGE = [
    "▁日本語", "▁שלום", "مرحبا", "▁हिन्दी", "ไทย", "<b>&amp;", "$x_1$ $", "\x00", "\n", "\u200d",
    "\u0301", "\ufffe", " ", "🎉", "\\frac", "x" * 100, "", "\u2028",
]  # fmt: skip


@pytest.mark.parametrize("draw", [lambda t: draw_attention(t, "cross"), draw_heat_map])
def test_any_token_can_be_drawn_without_a_warning(draw: object, tmp_path: Path) -> None:
    trace = make_trace([*STRANGE, "</s>"], [*reversed(STRANGE), "</s>"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        texts = check_files(draw(trace), tmp_path / "strange")
    for token in STRANGE:
        if token:
            assert label_of(token) in texts
    assert "▁日本語" in texts
    assert "$x_1$ $".replace(" ", "␣") in texts


def test_drawing_a_png_leaves_the_texts_of_the_figure_as_they_were(tmp_path: Path) -> None:
    figure = draw_heat_map(make_trace(["日本"], ["𒀀"]))
    write_figure(figure, tmp_path / "first.svg")
    write_figure(figure, tmp_path / "map.png")
    write_figure(figure, tmp_path / "second.svg")
    assert (tmp_path / "first.svg").read_bytes() == (tmp_path / "second.svg").read_bytes()


def test_a_missing_font_is_told_in_the_log_and_in_the_png_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # U+E123 is for private use: no font has it, and none of the usual ones ever will.
    warn_of_missing(["a", "\ue123"])
    assert "shows U+E123; it will be □" in caplog.text
    figure = draw_heat_map(make_trace(["\ue123"], ["b"]))
    plain = draw_heat_map(make_trace(["□"], ["b"]))
    png, svg = save_figure(figure, tmp_path / "missing")
    assert png.read_bytes() != save_figure(plain, tmp_path / "plain")[0].read_bytes()
    assert "\ue123" in svg_texts(svg)
    assert not any("no font" in text for text in svg_texts(svg))


def test_no_warning_where_every_character_has_a_font(caplog: pytest.LogCaptureFixture) -> None:
    warn_of_missing(["▁ăâîșț", "▁Привет", "▁שלום", "مرحبا", "Ελλάδα", "◌\u0301", "␣", "…"])
    assert not caplog.text


def test_a_very_long_sentence_keeps_within_the_largest_side_and_names_some_tokens() -> None:
    tokens = [f"t{number}" for number in range(300)]
    figure = draw_attention(make_trace(tokens, tokens, layers=2, heads=4), "cross")
    assert max(figure.get_size_inches()) <= LARGEST_SIDE + 1
    shown = {text.get_text() for text in figure.axes[0].texts}
    assert "t0" in shown
    assert 20 < len(shown) < 300
    assert any("too many to name all" in text.get_text() for text in figure.texts)


@pytest.mark.parametrize(
    ("token", "label"),
    [
        ("\x00", "U+0000"),
        ("\n", "U+000A"),
        ("\x85", "U+0085"),
        ("\u200b", "U+200B"),
        ("\u00a0", "U+00A0"),
        ("\u0301", "◌\u0301"),
        ("ș", "ș"),
        ("a b", "a␣b"),
        ("x" * 24, "x" * 24),
        ("x" * 25, "x" * 23 + "…"),
    ],
)
def test_labels_are_visible(token: str, label: str) -> None:
    assert label_of(token) == label
