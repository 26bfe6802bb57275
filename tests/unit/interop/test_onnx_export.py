"""Exports that onnxruntime opens and translates with, and transformers.js too."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from programs import run_in_node

from interlingua.checkpoints.model_folder import load_model_folder
from interlingua.cli import main
from interlingua.decoding.greedy import greedy_search
from interlingua.errors import ExportError, ModelError
from interlingua.interop import onnx_export
from interlingua.interop.export import export_model
from interlingua.translator import Translator

onnx = pytest.importorskip("onnx", reason="needs the export extra: onnx")
pytest.importorskip("onnxruntime", reason="needs the export extra: onnxruntime")

from interlingua.interop.onnx_runtime import OnnxModel  # noqa: E402

SOURCES = ["pisica doarme în grădina noastră", "câinele aleargă", "x 日本 y", "nu știu"]

CASES = [
    ("tied", True, {}),
    ("separate", False, {}),
    ("untied-biased", False, {}),
    ("6+6", True, {}),
    ("12+1", True, {}),
    ("tied", True, {"norm": "pre"}),
    ("tied", True, {"activation": "swiglu", "norm": "pre"}),
    ("tied", True, {"positions": "learned"}),
    ("tied", True, {"d_k": 4, "d_v": 6}),
]


@pytest.mark.parametrize(("name", "shared", "changes"), CASES)
def test_every_token_and_score_is_the_same_in_onnxruntime(
    make_folder: Callable[..., Path],
    tmp_path: Path,
    name: str,
    shared: bool,
    changes: dict[str, object],
) -> None:
    folder = make_folder(name, shared=shared, **changes)
    exported = export_model(folder, tmp_path / "out", format_name="onnx")
    assert exported.proof is not None
    for each in exported.proof.comparisons:
        assert each.agreement == 1.0 or each.near_ties
        assert each.score_difference is not None
        assert each.score_difference < 1e-5


@pytest.mark.parametrize("merged", [True, False], ids=["merged", "two decoders"])
@pytest.mark.parametrize("name", ["tied", "separate", "untied-biased"])
def test_logits_are_the_same_to_a_ten_thousandth(
    make_folder: Callable[..., Path], tmp_path: Path, name: str, merged: bool
) -> None:
    loaded = load_model_folder(make_folder(name, shared=name == "tied"))
    out = tmp_path / "out"
    out.mkdir()
    onnx_export.write(loaded, out, "float32")
    there = OnnxModel(out / "onnx", source_pad=loaded.tokenizers.source.pad_id, merged=merged)
    source = torch.tensor([[9, 8, 7, 6, 3], [5, 4, 3, 0, 0]])
    target = torch.tensor([[2, 5, 6, 7], [2, 9, 9, 4]])
    wanted = loaded.model(source, target)
    state = there.start(there.encode(source))
    for step in range(4):
        logits, state = there.step(target[:, step], state)
        torch.testing.assert_close(logits, wanted[:, step], atol=1e-4, rtol=0)
        rows = torch.tensor([1, 0])
        state, target, wanted = state.reorder(rows), target[rows], wanted[rows]


def test_our_translator_runs_on_it(make_folder: Callable[..., Path], tmp_path: Path) -> None:
    folder = make_folder("tied")
    export_model(folder, tmp_path / "out", format_name="onnx", is_proved=False)
    ours = Translator.load(folder)
    theirs = Translator(
        OnnxModel(tmp_path / "out" / "onnx", source_pad=ours.tokenizers.source.pad_id),
        ours.tokenizers,
        source_lang="ro",
        target_lang="en",
        decoding=ours.decoding,
        max_source_length=ours.max_source_length,
    )
    for beam_size in (1, 4):
        here = ours.translate(SOURCES, beam_size=beam_size)
        there = theirs.translate(SOURCES, beam_size=beam_size)
        assert [each.text for each in here] == [each.text for each in there]


def test_names_opset_and_free_sizes_are_those_that_transformers_js_reads(
    make_folder: Callable[..., Path], tmp_path: Path
) -> None:
    export_model(make_folder("tied"), tmp_path / "out", format_name="onnx", is_proved=False)
    model = onnx.load(tmp_path / "out" / "onnx" / "decoder_model_merged.onnx")
    shapes = {
        each.name: [size.dim_param or size.dim_value for size in each.type.tensor_type.shape.dim]
        for each in (*model.graph.input, *model.graph.output)
    }
    kept = [
        f"{layer}.{side}.{what}"
        for layer in (0, 1)
        for side in ("decoder", "encoder")
        for what in ("key", "value")
    ]
    assert set(shapes) == {
        *("input_ids", "encoder_attention_mask", "encoder_hidden_states", "use_cache_branch"),
        *(f"past_key_values.{name}" for name in kept),
        *(f"present.{name}" for name in kept),
        "logits",
    }
    assert shapes["past_key_values.0.decoder.key"] == [
        *("batch_size", 2, "past_decoder_sequence_length", 8)
    ]
    assert shapes["logits"][:2] == ["batch_size", "decoder_sequence_length"]
    assert [(each.domain, each.version) for each in model.opset_import] == [("", 17)]
    assert model.ir_version == 8


def test_int8_is_a_third_of_the_size_and_translates_nearly_the_same(
    make_folder: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_folder("6+6", d_model=64, d_ff=256)
    for quantization in ("float32", "int8"):
        export_model(
            folder,
            tmp_path / quantization,
            format_name="onnx",
            quantization=quantization,
            is_proved=False,
        )
    plain = (tmp_path / "float32/onnx/decoder_model.onnx").stat().st_size
    small = (tmp_path / "int8/onnx/decoder_model_quantized.onnx").stat().st_size
    assert small < plain / 2.5
    loaded = load_model_folder(folder)
    there = OnnxModel(tmp_path / "int8/onnx", source_pad=loaded.tokenizers.source.pad_id)
    source = torch.tensor([[9, 8, 7, 6, 3]])
    wanted = loaded.model(source, torch.tensor([[2]]))[:, 0]
    logits, _ = there.step(torch.tensor([2]), there.start(there.encode(source)))
    assert (logits - wanted).abs().max() < 0.1 * wanted.std()


def test_it_refuses_what_transformers_js_cannot_cut(
    make_folder: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder("tied")
    monkeypatch.setattr(onnx_export, "_LARGEST", 1000)
    with pytest.raises(ExportError, match=r"an \.onnx file holds 2"):
        export_model(folder, tmp_path / "out", format_name="onnx")
    assert not (tmp_path / "out").exists()


def test_a_damaged_graph_is_told_in_one_line(tmp_path: Path) -> None:
    for name in ("encoder_model", "decoder_model_merged"):
        (tmp_path / f"{name}.onnx").write_bytes(b"not a graph")
    with pytest.raises(ModelError, match="onnxruntime cannot open it"):
        OnnxModel(tmp_path, source_pad=0)


@pytest.mark.slow
@pytest.mark.runtime
def test_transformers_js_writes_the_same_text(
    make_folder: Callable[..., Path], tmp_path: Path
) -> None:
    folder, out = make_folder("tied"), str(tmp_path / "out")
    assert main(["export", str(folder), "--format", "onnx", "--output", out]) == 0
    translator = Translator.load(folder)
    texts = [*SOURCES, "Ștefan  și   Ion", "ﬁn (x) — 日本", "a"]
    ours = translator.translate(texts, beam_size=1)
    asked = [[text, len(each.log_probabilities)] for text, each in zip(texts, ours, strict=True)]
    theirs = run_in_node("transformers_js.mjs", out, "fp32", asked=asked)
    assert theirs == [each.text for each in ours]


@pytest.mark.slow
@pytest.mark.runtime
def test_onnxruntime_web_writes_the_same_tokens(
    make_folder: Callable[..., Path], tmp_path: Path
) -> None:
    folder, out = make_folder("separate"), tmp_path / "out"
    export_model(folder, out, format_name="onnx", is_proved=False)
    loaded = load_model_folder(folder)
    source, target = loaded.tokenizers.source, loaded.tokenizers.target
    sources = [[*ids, source.end_id] for ids in source.encode_batch(SOURCES)]
    never, most = [target.pad_id, target.begin_id], 12
    asked = {
        "begin": target.begin_id,
        "end": target.end_id,
        "never": never,
        "sources": sources,
        "most": most,
    }
    theirs = run_in_node("onnxruntime_web.mjs", str(out / "onnx"), asked=asked)
    for ids, written in zip(sources, theirs, strict=True):
        (ours,) = greedy_search(
            loaded.model,
            torch.tensor([ids]),
            symbols=target.symbols,
            max_lengths=[most],
        )
        assert [each for each in written if each != target.end_id] == list(ours.ids)
