"""``interlingua doctor`` finds every fault that is put into a real model or run, and none in a healthy one."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from interlingua.checkpoints.manifest import write_manifest
from interlingua.checkpoints.weights import read_tensors, write_tensors
from interlingua.corpus.findings import Report
from interlingua.corpus.pairs import SentencePair
from interlingua.errors import ModelError
from interlingua.examination.models_and_runs import examine_model
from interlingua.tokenization.train import train_tokenizer

GOLDEN = Path(__file__).parents[2] / "golden" / "models"
Weights = dict[str, Tensor]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    shutil.copytree(GOLDEN / "v1", tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture(scope="module")
def pairs() -> list[SentencePair]:
    """What the model was asked to do: write digits backwards."""
    record = json.loads((GOLDEN / "v1.json").read_text(encoding="utf-8"))
    sources = [one["source"] for one in record["translations"] if one["source"].strip()]
    return [
        SentencePair(source, " ".join(reversed(source.split())), number)
        for number, source in enumerate(sources, 1)
        if len(source.split()) <= 4
    ]


def change(model: Path, fault: Callable[[Weights], None]) -> Path:
    """Put ``fault`` into the weights, so that the files still look whole."""
    weights = {
        name: tensor.clone() for name, tensor in read_tensors(model / "model.safetensors").items()
    }
    fault(weights)
    write_tensors(model / "model.safetensors", weights)
    write_manifest(model)
    return model


def severities(report: Report) -> dict[str, str]:
    return {finding.code: finding.severity for finding in report.ranked}


def test_a_healthy_model_has_no_findings(model: Path, pairs: list[SentencePair]) -> None:
    """One head of this model has learnt to rest on the end symbol, which is worth a note."""
    assert severities(examine_model(model, pairs)) == {"dead-heads": "note"}
    assert severities(examine_model(model)) == {}


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="does not exist"):
        examine_model(tmp_path / "nowhere")
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ModelError, match="is a file"):
        examine_model(tmp_path / "file")


@pytest.mark.parametrize(
    "name", ["config.json", "model.safetensors", "generation_config.json", "tokenizer.json"]
)
@pytest.mark.parametrize("fault", ["cut", "bit", "gone", "empty"])
def test_a_damaged_file_is_named(model: Path, name: str, fault: str) -> None:
    file = model / name
    data = bytearray(file.read_bytes())
    if fault == "gone":
        file.unlink()
    elif fault == "bit":
        data[len(data) // 2] ^= 0x80
        file.write_bytes(data)
    else:
        file.write_bytes(data[: len(data) // 2] if fault == "cut" else b"")
    report = examine_model(model)
    assert report.exit_status == 1
    told = [finding.message for finding in report.findings if finding.code == "corrupt-file"]
    assert any(name in message for message in told)


def test_a_manifest_that_is_missing_or_damaged_is_an_error(model: Path) -> None:
    (model / "manifest.json").write_text("{", encoding="utf-8")
    assert severities(examine_model(model))["corrupt-file"] == "error"
    (model / "manifest.json").unlink()
    assert severities(examine_model(model)) == {"no-manifest": "error"}
    (model / "pytorch_model.bin").write_bytes(b"\x80")
    assert severities(examine_model(model)) == {"old-format": "error"}


@pytest.mark.parametrize(
    ("version", "code"), [(0, "old-format"), (99, "newer-format"), ("x", "old-format")]
)
def test_another_format_version_is_told(model: Path, version: object, code: str) -> None:
    manifest = json.loads((model / "manifest.json").read_text(encoding="utf-8"))
    manifest["format_version"] = version
    (model / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert severities(examine_model(model)) == {code: "error"}


def test_the_tokenizer_of_another_model_is_found_by_its_checksum(model: Path) -> None:
    train_tokenizer(["a b c d e f"], kind="word", vocabulary_size=262).save(
        model / "tokenizer.json"
    )
    assert severities(examine_model(model))["wrong-tokenizer"] == "error"


def test_the_tokenizer_of_another_model_is_found_by_its_size(model: Path) -> None:
    other = train_tokenizer(["a b c d e f g h"] * 3, kind="bpe", vocabulary_size=270)
    other.save(model / "tokenizer.json")
    write_manifest(model)
    assert severities(examine_model(model))["wrong-tokenizer"] == "error"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_weight_that_is_no_number_is_found(model: Path, value: float) -> None:
    def fault(weights: Weights) -> None:
        weights["decoder.layers.0.feed_forward.inner.weight"][3, 5] = value

    report = examine_model(change(model, fault))
    assert severities(report) == {"nan-weights": "error"}
    assert "1 weights are NaN" in report.findings[0].message


def test_weights_that_exploded_are_found_one_or_all(model: Path) -> None:
    def one(weights: Weights) -> None:
        weights["encoder.layers.0.self_attention.value.weight"] *= 100

    def every(weights: Weights) -> None:
        for tensor in weights.values():
            tensor *= 1e4

    assert severities(examine_model(change(model, one)))["exploding-norms"] == "error"
    assert severities(examine_model(change(model, every)))["exploding-norms"] == "error"


def test_a_matrix_of_zeros_is_found(model: Path) -> None:
    def fault(weights: Weights) -> None:
        weights["encoder.layers.0.feed_forward.inner.weight"].zero_()

    assert severities(examine_model(change(model, fault)))["dead-weights"] == "error"


@pytest.mark.parametrize("has_text", [True, False])
@pytest.mark.parametrize("size", [0.0, 1e-3])
def test_a_decoder_that_ignores_its_source_is_found(
    model: Path, pairs: list[SentencePair], has_text: bool, size: float
) -> None:
    def fault(weights: Weights) -> None:
        weights["decoder.layers.0.cross_attention.value.weight"] *= size

    report = examine_model(change(model, fault), pairs if has_text else None)
    assert severities(report)["ignores-source" if size else "dead-weights"] == "error"


def test_cross_attention_that_nobody_hears_means_an_ignored_source(
    model: Path, pairs: list[SentencePair]
) -> None:
    def fault(weights: Weights) -> None:
        generator = torch.Generator().manual_seed(1)
        shape = weights["decoder.layers.0.cross_attention.output.weight"].shape
        weights["decoder.layers.0.cross_attention.output.weight"] = 1e-6 * torch.randn(
            shape, generator=generator
        )

    assert severities(examine_model(change(model, fault), pairs))["ignores-source"] == "error"


@pytest.mark.parametrize("has_text", [True, False])
@pytest.mark.parametrize(
    "module",
    [
        "encoder.layers.0.self_attention",
        "decoder.layers.0.self_attention",
        "decoder.layers.0.cross_attention",
    ],
)
@pytest.mark.parametrize("part", ["query", "key", "value", "output"])
def test_a_dead_head_is_found(
    model: Path, pairs: list[SentencePair], module: str, part: str, has_text: bool
) -> None:
    def fault(weights: Weights) -> None:
        matrix = weights[f"{module}.{part}.weight"]
        if part == "output":
            matrix[:, : matrix.size(1) // 2] = 0
        else:
            matrix[: matrix.size(0) // 2] = 0
            weights[f"{module}.{part}.bias"][: matrix.size(0) // 2] = 0

    report = examine_model(change(model, fault), pairs if has_text else None)
    dead = [finding for finding in report.findings if finding.code == "dead-heads"]
    assert len(dead) == 1
    assert f"{module} head 1" in dead[0].message


def test_text_of_another_script_is_unknown(model: Path) -> None:
    pairs = [SentencePair("это не цифры", "これは数字ではない", n) for n in range(1, 9)]
    assert severities(examine_model(model, pairs))["unknown-vocabulary"] == "error"


def test_outputs_that_repeat_are_found(model: Path, pairs: list[SentencePair]) -> None:
    """The end symbol is made so unlikely that the model never stops."""

    def fault(weights: Weights) -> None:
        name = "output.weight" if "output.weight" in weights else "target_embedding.table.weight"
        name = name if name in weights else "source_embedding.table.weight"
        weights[name][3] *= -1

    found = severities(examine_model(change(model, fault), pairs))
    assert found.keys() & {"unfinished-outputs", "repeating-outputs", "worse-than-chance"}


def test_outputs_that_are_empty_are_found(model: Path, pairs: list[SentencePair]) -> None:
    def fault(weights: Weights) -> None:
        name = next(
            n
            for n in weights
            if n.startswith("decoder.layers.0") and n.endswith("norm.bias") and "feed" in n
        )
        table = weights.get("output.weight", weights["source_embedding.table.weight"])
        weights[name] += 20 * table[3] / table[3].norm()

    found = severities(examine_model(change(model, fault), pairs))
    assert found["empty-outputs"] == "error"
    assert found["same-output"] == "error"


def test_outputs_that_are_empty_are_found_without_text_too(model: Path) -> None:
    def fault(weights: Weights) -> None:
        name = next(
            n for n in weights if "decoder" in n and "feed" in n and n.endswith("norm.bias")
        )
        table = weights.get("output.weight", weights["source_embedding.table.weight"])
        weights[name] += 20 * table[3] / table[3].norm()

    assert severities(examine_model(change(model, fault)))["empty-outputs"] == "error"


def _run(tmp_path: Path, model: Path, records: list[dict[str, object]]) -> Path:
    run = tmp_path / "run"
    shutil.copytree(model, run / "model")
    (run / "tokenizer").mkdir()
    shutil.copy(model / "tokenizer.json", run / "tokenizer")
    (run / "metrics.jsonl").write_text(
        "".join(json.dumps(record) + "\n" for record in records), encoding="utf-8"
    )
    return run


def _curves(training: list[float], validation: list[float]) -> list[dict[str, object]]:
    curves = (("training", training), ("validation", validation))
    return [
        {"kind": kind, "step": 100 * number, "loss": loss, "gradient_norm": 1.0}
        for kind, losses in curves
        for number, loss in enumerate(losses, 1)
    ]


FALLING = [5.0, 4.0, 3.0, 2.5, 2.2, 2.0, 1.8, 1.7]


def test_a_healthy_run_has_no_findings(tmp_path: Path, model: Path) -> None:
    run = _run(tmp_path, model, _curves(FALLING, [4.5, 3.5, 3.0, 2.9, 2.91]))
    assert severities(examine_model(run)) == {}


@pytest.mark.parametrize(
    ("training", "validation", "code"),
    [
        (FALLING, [4.5, 3.5, 3.0, 3.2, 3.6], "overfitting"),
        ([5.0, 4.0, 3.0, 2.5, 2.4, 7.0, 7.1, 7.2], [4.5, 3.5, 3.0, 6.2, 7.6], "diverged"),
        ([5.0, float("nan")], [4.5], "diverged"),
        (FALLING, [4.0, float("inf")], "diverged"),
    ],
)
def test_curves_that_go_wrong_are_found(
    tmp_path: Path, model: Path, training: list[float], validation: list[float], code: str
) -> None:
    report = examine_model(_run(tmp_path, model, _curves(training, validation)))
    assert [finding.code for finding in report.findings] == [code]


def test_records_that_were_cut_are_told_by_their_lines(tmp_path: Path, model: Path) -> None:
    run = _run(tmp_path, model, _curves(FALLING, []))
    with (run / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"kind": "training", "st')
    (finding,) = examine_model(run).findings
    assert (finding.code, finding.severity, finding.lines) == ("corrupt-file", "warning", (9,))


def test_a_run_with_the_tokenizer_of_another_is_found(tmp_path: Path, model: Path) -> None:
    run = _run(tmp_path, model, [])
    file = run / "tokenizer" / "tokenizer.json"
    file.write_text(file.read_text(encoding="utf-8") + " ", encoding="utf-8")
    assert severities(examine_model(run)) == {"wrong-tokenizer": "error"}


def test_a_damaged_checkpoint_is_found(tmp_path: Path, model: Path) -> None:
    run = _run(tmp_path, model, [])
    for step in (10, 20):
        folder = run / "checkpoints" / f"step-{step}"
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(b"weights")
        write_manifest(folder)
    assert severities(examine_model(run)) == {}
    (run / "checkpoints" / "step-20" / "model.safetensors").write_bytes(b"w")
    assert severities(examine_model(run)) == {"corrupt-checkpoint": "warning"}
    (run / "checkpoints" / "step-10" / "model.safetensors").unlink()
    assert severities(examine_model(run)) == {"corrupt-checkpoint": "error"}


def test_a_checkpoint_with_a_weight_that_is_no_number_is_found(tmp_path: Path, model: Path) -> None:
    run = _run(tmp_path, model, [])
    folder = run / "checkpoints" / "step-10"
    folder.mkdir(parents=True)
    write_tensors(folder / "model.safetensors", {"weight": torch.full((2, 2), torch.nan)})
    write_manifest(folder)
    assert severities(examine_model(run)) == {"nan-weights": "error"}


def test_a_gradient_that_explodes_is_found(tmp_path: Path, model: Path) -> None:
    records = _curves(FALLING, [])
    for record, norm in zip(records, [3.0, 1.0, 1.0, 1.2, 9.0, 80.0, 900.0, 7000.0], strict=True):
        record["gradient_norm"] = norm
    assert severities(examine_model(_run(tmp_path, model, records))) == {"diverged": "error"}


def test_tokens_and_lock_that_are_damaged_are_found(tmp_path: Path, model: Path) -> None:
    run = _run(tmp_path, model, [])
    (run / "corpus.lock").write_text("{", encoding="utf-8")
    assert severities(examine_model(run)) == {"corrupt-file": "warning"}
    (run / "shards" / "training").mkdir(parents=True)
    (run / "shards" / "training" / "manifest.json").write_text("{", encoding="utf-8")
    assert [each.severity for each in examine_model(run).ranked] == ["error", "warning"]


def test_a_run_without_a_model_says_so(tmp_path: Path, model: Path) -> None:
    run = _run(tmp_path, model, [])
    shutil.rmtree(run / "model")
    (run / "config.toml").write_text("", encoding="utf-8")
    assert severities(examine_model(run)) == {"no-model": "warning"}
