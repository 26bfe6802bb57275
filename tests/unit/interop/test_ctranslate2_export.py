"""Exports that CTranslate2 itself opens and translates with."""

import dataclasses
import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import yaml

from interlingua.checkpoints.model_folder import load_model_folder
from interlingua.checkpoints.weights import parameters_of
from interlingua.cli import main
from interlingua.errors import ConfigError, ExportError
from interlingua.interop import ctranslate2_export
from interlingua.interop.export import export_model
from interlingua.interop.proof import Output, Runtime

pytest.importorskip("ctranslate2", reason="needs the export extra: ctranslate2")

CASES = [
    ("tied", True, {}),
    ("separate", False, {}),
    ("untied-biased", False, {}),
    ("untied-biased", True, {"tie": "target"}),
    ("6+6", True, {}),
    ("12+1", True, {}),
    ("tied", True, {"norm": "pre"}),
    ("tied", True, {"activation": "swiglu", "norm": "pre"}),
    ("tied", True, {"positions": "learned"}),
]


@pytest.mark.parametrize(("name", "shared", "changes"), CASES)
def test_every_token_and_score_is_the_same_there(
    make_folder: Callable[..., Path],
    tmp_path: Path,
    name: str,
    shared: bool,
    changes: dict[str, object],
) -> None:
    folder = make_folder(name, shared=shared, **changes)
    exported = export_model(folder, tmp_path / "out", format_name="ctranslate2")
    assert exported.proof is not None
    assert [each.beam_size for each in exported.proof.comparisons] == [1, 4]
    for each in exported.proof.comparisons:
        assert each.agreement == 1.0 or each.near_ties
        assert each.score_difference is not None
        assert each.score_difference < 1e-5
        assert each.bleu_difference == 0.0
    card = (tmp_path / "out" / "README.md").read_text()
    assert "| greedy | 100.00% |" in card
    assert 'language:\n- "ro"\n- "en"\n' in card
    told = yaml.safe_load(card.split("---")[1])
    assert told["language"] == ["ro", "en"]
    metrics = told["model-index"][0]["results"][0]["metrics"]
    assert [each["type"] for each in metrics] == ["bleu", "bleu"]
    assert "|tok:13a|" in metrics[0]["name"]
    assert metrics[0]["name"].partition("nrefs")[2] in card


@pytest.mark.parametrize("quantization", list(ctranslate2_export.PRECISIONS))
def test_it_loads_in_every_precision(
    make_folder: Callable[..., Path], tmp_path: Path, quantization: str
) -> None:
    folder = make_folder("tied")
    out = tmp_path / "out"
    exported = export_model(
        folder, out, format_name="ctranslate2", quantization=quantization, is_proved=False
    )
    assert exported.proof is None
    assert "--no-verify" in (out / "README.md").read_text()
    assert len(ctranslate2_export.runtime(out)([], 1, 5)) == 0
    sizes = dict(exported.files)
    plain = folder / "model.safetensors"
    assert (sizes["model.bin"] < 0.75 * plain.stat().st_size) == (quantization != "float32")


@pytest.mark.parametrize("quantization", ["int8", "int16"])
def test_quantisation_leaves_the_model_itself_as_it_was(
    make_folder: Callable[..., Path], tmp_path: Path, quantization: str
) -> None:
    loaded = load_model_folder(make_folder("untied-biased", shared=False))
    before = {name: tensor.clone() for name, tensor in parameters_of(loaded.model).items()}
    (tmp_path / "out").mkdir()
    ctranslate2_export.write(loaded, tmp_path / "out", quantization)
    assert all(torch.equal(before[key], each) for key, each in parameters_of(loaded.model).items())


def test_an_export_that_translates_otherwise_is_refused_and_leaves_nothing(
    make_folder: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = make_folder("tied")
    real = ctranslate2_export._set_norm

    def wrong(spec: object, norm: torch.nn.LayerNorm) -> None:
        real(spec, norm)
        spec.gamma = -spec.gamma  # type: ignore[attr-defined]

    monkeypatch.setattr(ctranslate2_export, "_set_norm", wrong)
    out = tmp_path / "out"
    arguments = ["export", str(folder), "--format", "ctranslate2", "--output", str(out)]
    assert main(arguments) == 8
    told = capsys.readouterr().err
    assert "CTranslate2 does not translate like" in told
    assert not out.exists()
    assert not list(tmp_path.glob(".out*"))


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--format", "onyx"], 2, "none of ctranslate2"),
        (["--format", "ctranslate2", "--quantization", "int3"], 2, "takes float32, int8"),
        (["--format", "ctranslate2", "--verify", "missing.ro"], 3, "missing.ro"),
    ],
)
def test_what_makes_no_sense_is_refused(
    make_folder: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    status: int,
    words: str,
) -> None:
    folder = make_folder("tied")
    assert main(["export", str(folder), "--output", str(tmp_path / "out"), *arguments]) == status
    told = capsys.readouterr().err
    assert words in told
    assert told.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_nothing_that_is_there_is_replaced(
    make_folder: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_folder("tied")
    out = tmp_path / "out"
    out.mkdir()
    (out / "letter.txt").write_text("dear")
    with pytest.raises(ConfigError, match="is there already"):
        export_model(folder, out, format_name="ctranslate2")
    assert [file.name for file in out.iterdir()] == ["letter.txt"]


def test_heads_of_another_width_are_refused(
    make_folder: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_folder("tied", d_k=4, d_v=6)
    with pytest.raises(ExportError, match="heads of d_model / heads only"):
        export_model(folder, tmp_path / "out", format_name="ctranslate2")
    assert not (tmp_path / "out").exists()


def test_without_the_package_one_line_says_what_to_install(
    make_folder: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"pip install '\.\[export\]'"):
        export_model(make_folder("tied"), tmp_path / "out", format_name="ctranslate2")


def test_a_file_of_sentences_takes_the_place_of_those_in_the_folder(
    make_folder: Callable[..., Path], tmp_path: Path
) -> None:
    sentences = tmp_path / "some.ro"
    sentences.write_text("nu știu\n\ncine ești\n", encoding="utf-8")
    exported = export_model(
        make_folder("tied"), tmp_path / "out", format_name="ctranslate2", verify=(sentences,)
    )
    assert exported.proof is not None
    assert exported.proof.sentences == 2
    assert exported.proof.comparisons[0].bleu is None
    # The outputs are shorter than the four words that BLEU counts, and equal.
    assert exported.proof.comparisons[0].bleu_difference == 0.0


def test_an_output_with_another_text_is_a_failure(
    make_folder: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ctranslate2_export.runtime

    def shouting(folder: Path) -> Runtime:
        translate = real(folder)

        def run(*arguments: object) -> list[Output]:
            return [dataclasses.replace(one, text="!") for one in translate(*arguments)]

        return run

    monkeypatch.setattr(ctranslate2_export, "runtime", shouting)
    with pytest.raises(ExportError, match="become another text"):
        export_model(make_folder("tied"), tmp_path / "out", format_name="ctranslate2")
