"""Search in compiled kernels against the plain one: the same targets, and for itself the same in any company."""

import math
import shutil
from pathlib import Path

import pytest
import torch

from interlingua.batching.batch import pad_sources
from interlingua.checkpoints.model_folder import load_model_folder, save_model_folder
from interlingua.checkpoints.weights import parameters_of
from interlingua.decoding.beam_search import beam_search
from interlingua.decoding.compiled_search import compiled_beam_search, is_plain
from interlingua.decoding.hypothesis import Hypothesis
from interlingua.decoding.options import SearchOptions, Wishes
from interlingua.decoding.search import search
from interlingua.errors import ConfigError, ModelError
from interlingua.kernels.search import CompiledSearch, can_search, precisions
from interlingua.model.architecture import Architecture
from interlingua.model.transformer import Transformer
from interlingua.tokenization.tokenizer import Symbols
from interlingua.translator import Translator

pytestmark = pytest.mark.skipif(not precisions(), reason="needs a C++ compiler")

SHAPES = {
    "paper": Architecture(encoder_layers=2, decoder_layers=2, d_model=64, d_ff=96, heads=4),
    "odd widths": Architecture(
        encoder_layers=1, decoder_layers=2, d_model=22, d_ff=37, heads=3, d_k=5, d_v=9, tie="target"
    ),
    "pre-norm, swiglu": Architecture(
        encoder_layers=3,
        decoder_layers=1,
        d_model=48,
        d_ff=70,
        heads=3,
        norm="pre",
        activation="swiglu",
        positions="learned",
        tie="none",
    ),
    "gelu": Architecture(
        encoder_layers=1, decoder_layers=1, d_model=32, d_ff=64, heads=2, activation="gelu"
    ),
    "output bias, as models of Marian": Architecture(
        encoder_layers=1,
        decoder_layers=2,
        d_model=32,
        d_ff=64,
        heads=2,
        activation="swish",
        output_bias=True,
    ),
}
VOCABULARY = 101
PAD, BEGIN, END = 0, 1, 2
SOURCES = [[5, 9, 4, END], [7, END], [*list(range(3, 40)), END], [99, 100, 99, 100, END], [END]]
SOURCES += [[3 + (7 * i + j * j) % 90 for j in range(1 + i % 11)] + [END] for i in range(20)]
LIMITS = [len(source) + 1 + i % 4 for i, source in enumerate(SOURCES)]
NEAR = 1e-5
GOLDEN = Path(__file__).parents[1] / "golden" / "models" / "v1"


def make(shape: str, seed: int = 0) -> Transformer:
    torch.manual_seed(seed)
    model = Transformer(SHAPES[shape], source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)  # probabilities far from even
        if model.output.bias is not None:
            model.output.bias.normal_()
    return model.eval().requires_grad_(False)


def compiled(
    packed: CompiledSearch, beam: int, alpha: float, n_best: int, chosen: list[int] | None = None
) -> list[list[Hypothesis]]:
    chosen = list(range(len(SOURCES))) if chosen is None else chosen
    return compiled_beam_search(
        packed,
        [SOURCES[i] for i in chosen],
        symbols=Symbols(PAD, BEGIN, END),
        max_lengths=[LIMITS[i] for i in chosen],
        options=SearchOptions(beam_size=beam, n_best=n_best, length_penalty=alpha),
    )


def plainly(model: Transformer, beam: int, alpha: float, n_best: int) -> list[list[Hypothesis]]:
    return beam_search(
        model,
        pad_sources([source[:-1] for source in SOURCES], pad=PAD, end=END),
        symbols=Symbols(PAD, BEGIN, END),
        max_lengths=LIMITS,
        options=SearchOptions(beam_size=beam, n_best=n_best, length_penalty=alpha),
    )


@pytest.mark.parametrize(
    ("beam", "alpha", "n_best"), [(1, 0.0, 1), (4, 0.6, 4), (5, 1.0, 1), (3, -0.5, 2)]
)
@pytest.mark.parametrize("shape", SHAPES)
def test_float32_finds_what_the_plain_search_finds(
    shape: str, beam: int, alpha: float, n_best: int
) -> None:
    model = make(shape)
    plain = plainly(model, beam, alpha, n_best)
    fast = compiled(CompiledSearch(model, "float32"), beam, alpha, n_best)
    for ours, theirs in zip(fast, plain, strict=True):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-4, rel=1e-5)
            assert one.stopped == other.stopped or abs(one.score - other.score) < NEAR
            if one.ids == other.ids:
                assert one.log_probabilities == pytest.approx(
                    other.log_probabilities, abs=1e-4, rel=1e-5
                )
            else:  # only where two are as good as each other
                assert any(abs(one.score - rival.score) < NEAR for rival in theirs)


@pytest.mark.parametrize("shape", ["pre-norm, swiglu", "output bias, as models of Marian"])
def test_a_unit_that_is_far_below_zero_is_shut(shape: str) -> None:
    model = make(shape)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            gated = ".gate.bias" in name or (".inner.bias" in name and "swiglu" not in shape)
            if "feed_forward" in name and gated:
                parameter[::2] -= torch.linspace(80.0, 260.0, len(parameter[::2]))
    plain = plainly(model, 1, 0.0, 1)
    fast = compiled(CompiledSearch(model, "float32"), 1, 0.0, 1)
    for (one,), (other,) in zip(fast, plain, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-4, rel=1e-5)


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_result_is_the_same_to_the_bit_alone_and_in_any_company(
    shape: str, precision: str
) -> None:
    if precision not in precisions():
        pytest.skip(f"no kernels for {precision} on this processor")
    packed = CompiledSearch(make(shape), precision)
    together = compiled(packed, 4, 0.6, 4)
    for i in range(len(SOURCES)):
        assert compiled(packed, 4, 0.6, 4, [i]) == [together[i]]
    backwards = list(range(len(SOURCES)))[::-1]
    assert compiled(packed, 4, 0.6, 4, backwards) == together[::-1]


@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_a_smaller_kind_of_number_is_near(precision: str) -> None:
    if precision not in precisions():
        pytest.skip(f"no kernels for {precision} on this processor")
    model = make("paper")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.div_(1.5)
    exact = compiled(CompiledSearch(model, "float32"), 1, 0.0, 1)
    near = compiled(CompiledSearch(model, precision), 1, 0.0, 1)
    first = [
        abs(a[0].log_probabilities[0] - b[0].log_probabilities[0])
        for a, b in zip(exact, near, strict=True)
    ]
    assert max(first) < 0.2
    assert math.fsum(first) > 0  # it is another way, or this test compares nothing


def test_a_shortest_length_is_kept_as_the_plain_search_keeps_it() -> None:
    model = make("paper")
    with torch.no_grad():
        model.output.weight[:, 0] = torch.arange(VOCABULARY) == END
        model.decoder.layers[-1].around_feed_forward.norm.bias[0] = 20.0  # eager to end
    translator = CompiledSearch(model, "float32")
    asked = SearchOptions(beam_size=3, min_length=4, length_penalty=0.6)
    wishes = [Wishes(max_length=9, source_length=len(source)) for source in SOURCES]
    assert is_plain(asked, wishes)
    padded = pad_sources([source[:-1] for source in SOURCES], pad=PAD, end=END)
    plain = search(model, padded, wishes, asked, symbols=Symbols(PAD, BEGIN, END))
    fast = compiled_beam_search(
        translator,
        SOURCES,
        symbols=Symbols(PAD, BEGIN, END),
        max_lengths=[9] * len(SOURCES),
        options=asked,
    )
    assert [best.ids for best, *_ in fast] == [best.ids for best, *_ in plain]
    assert min(len(best.ids) for best, *_ in fast) == 4


def test_equals_are_decided_for_the_lowest_symbol() -> None:
    model = make("paper")
    with torch.no_grad():
        model.output.weight.zero_()
    [[best], *_] = compiled(CompiledSearch(model, "float32"), 1, 0.0, 1)
    assert best.ids == ()
    assert best.stopped == "end"


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("place", ["output", "one of an inner weight", "scores that overflow"])
def test_what_is_no_number_is_told(precision: str, place: str) -> None:
    if precision not in precisions():
        pytest.skip(f"no kernels for {precision} on this processor")
    model = make("paper")
    attention, inner = model.encoder.layers[0].self_attention, model.decoder.layers[0].feed_forward
    with torch.no_grad():
        if place == "output":
            model.output.weight.fill_(float("nan"))
        elif place == "scores that overflow":
            for weight in (attention.query.weight, attention.key.weight):
                weight.mul_(1e20)
        else:
            inner.inner.weight[3, 5] = float("nan")
    with pytest.raises(ModelError, match="no probability to any symbol"):
        compiled(CompiledSearch(model, precision), 2, 0.0, 1)


def test_an_id_beyond_the_vocabulary_is_refused() -> None:
    packed = CompiledSearch(make("paper"), "float32")
    with pytest.raises(IndexError, match="outside of the vocabulary"):
        packed.search(
            [[VOCABULARY]],
            symbols=Symbols(PAD, BEGIN, END),
            max_lengths=[3],
            beam_size=1,
            alpha=0.0,
            n_best=1,
        )


@pytest.mark.parametrize(("source", "limit"), [(1025, 3), (1, 1025), (1, 0)])
def test_lengths_without_positions_are_refused(source: int, limit: int) -> None:
    packed = CompiledSearch(make("paper"), "float32")
    with pytest.raises(ValueError, match="positions for 1024 and 1024"):
        packed.search(
            [[END], [5] * source],
            symbols=Symbols(PAD, BEGIN, END),
            max_lengths=[3, limit],
            beam_size=1,
            alpha=0.0,
            n_best=1,
        )


def test_an_output_whose_numbers_do_not_lie_in_a_row_is_packed_as_it_is() -> None:
    model, other = make("pre-norm, swiglu"), make("pre-norm, swiglu")
    other.output.weight = torch.nn.Parameter(model.output.weight.T.contiguous().T)
    assert not other.output.weight.is_contiguous()
    found = [compiled(CompiledSearch(each, "float32"), 2, 0.0, 1) for each in (model, other)]
    assert found[0] == found[1]


def test_parts_of_ones_own_are_searched_plainly() -> None:
    model = make("paper")
    assert can_search(model)
    model.encoder.layers[0].register_forward_hook(lambda *_: None)
    assert not can_search(model)


def test_loading_packs_and_plain_does_not() -> None:
    fast, plain = Translator.load(GOLDEN), Translator.load(GOLDEN, plain=True)
    assert fast.compiled is not None
    assert plain.compiled is None
    texts = ["Pisica doarme.", "Cartea roșie este veche.", "Azi ele găsesc două scaune noi."]
    for one, other in zip(fast.translate(texts), plain.translate(texts), strict=True):
        assert one.text == other.text
        assert one.score == pytest.approx(other.score, abs=1e-4, rel=1e-5)
    with pytest.raises(ConfigError, match="dtype int8 is for"):
        Translator.load(GOLDEN, plain=True, dtype="int8")


def test_the_model_is_read_again_when_it_is_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(GOLDEN, folder)
    translator, other = Translator.load(folder), Translator.load(folder)
    assert isinstance(translator.model, Transformer)
    assert translator.model is translator.model
    save_another_model(folder)
    with pytest.raises(ModelError, match="another model than when it was opened"):
        _ = other.model


def save_another_model(folder: Path) -> None:
    loaded = load_model_folder(folder)
    weights = {name: tensor * 2 for name, tensor in parameters_of(loaded.model).items()}
    save_model_folder(folder, loaded, weights, "a card")
