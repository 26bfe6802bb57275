"""What came before the Transformer, through the commands that a user types."""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlingua.cli import main
from interlingua.errors import ModelError
from interlingua.inspection.looker import Looker
from interlingua.translator import Translator

Capture = pytest.CaptureFixture[str]

WORDS = ["unu", "doi", "trei", "patru", "cinci"]
LINES = [f"{a} {b} {c}" for a in WORDS for b in WORDS for c in WORDS]
SIZES = (
    "--model.encoder-layers 1 --model.decoder-layers 2 --model.d-model 16 --training.threads 1 "
    "--training.steps 6 --training.validate-every 3 --training.validate-sentences 4"
)
CORPUS = "train --source train.ro --target train.en"
KINDS = {
    "gru": "--model.kind gru --model.attention additive",
    "lstm": "--model.kind lstm --model.attention none",
    "rnn": "--model.kind rnn",
    "convolutional": "--model.kind convolutional --model.kernel-width 5",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a corpus to copy and a trained run of each kind, current while these tests run."""
    folder = tmp_path_factory.mktemp("predecessors")
    before = Path.cwd()
    os.chdir(folder)
    for side in ("ro", "en"):
        Path(f"train.{side}").write_text("".join(f"{line}\n" for line in LINES))
        Path(f"test.{side}").write_text("unu doi\ntrei patru\n")
    for kind, flags in KINDS.items():
        assert main(f"{CORPUS} {SIZES} {flags} --run-dir runs/{kind}".split()) == 0
    yield folder
    os.chdir(before)


def run(command: str, capsys: Capture) -> str:
    """Run a command that must succeed, and return what it prints."""
    capsys.readouterr()
    status = main(command.split(" "))
    output = capsys.readouterr()
    assert status == 0, output.err
    return output.out


def refused(command: str, capsys: Capture) -> str:
    """Run a command that must be refused in one line, and return that line."""
    capsys.readouterr()
    assert main(command.split(" ")) > 1
    told = capsys.readouterr().err.strip()
    assert told.count("\n") == 0
    return told


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_says_its_kind_and_translates_and_scores(
    place: Path, capsys: Capture, kind: str
) -> None:
    config = json.loads(Path(f"runs/{kind}/model/config.json").read_text())
    assert config["architecture"]["kind"] == kind
    assert "heads" not in config["architecture"]
    card = Path(f"runs/{kind}/model/README.md").read_text()
    assert {"convolutional": "Gehring"}.get(kind, kind.upper()) in card
    found = run(f"translate runs/{kind} --input test.ro --beam-size 3", capsys)
    assert found.count("\n") == 2
    report = run(f"evaluate runs/{kind} --source test.ro --reference test.en --json", capsys)
    assert "bleu" in report.lower()
    assert run(f"score runs/{kind} --source test.ro --target test.en", capsys).count("\n") >= 2


@pytest.mark.parametrize(
    "kind",
    ["gru", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS if kind != "gru")],
)
def test_the_same_command_continues_with_the_same_numbers_as_a_run_that_never_stopped(
    place: Path, capsys: Capture, kind: str
) -> None:
    again = f"{CORPUS} {SIZES} {KINDS[kind]}"
    run(f"{again} --run-dir runs/{kind}-parts --training.steps 3", capsys)
    run(f"{again} --run-dir runs/{kind}-parts", capsys)
    models = [
        Path(f"runs/{name}/model/model.safetensors").read_bytes()
        for name in (kind, f"{kind}-parts")
    ]
    assert models[0] == models[1]
    weights = [Path(f"runs/{name}/checkpoints/step-6") for name in (kind, f"{kind}-parts")]
    files = [sorted(each.glob("*.safetensors")) for each in weights]
    assert files[0]
    assert [f.read_bytes() for f in files[0]] == [f.read_bytes() for f in files[1]]


@pytest.mark.parametrize(
    "kind",
    ["gru", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("rnn", "convolutional"))],
)
def test_attention_is_drawn_and_words_are_aligned(place: Path, capsys: Capture, kind: str) -> None:
    run(f"inspect runs/{kind} {WORDS[0]} --output figures-{kind}", capsys)
    trace = json.loads(Path(f"figures-{kind}/trace.json").read_text())
    layers = 2 if kind == "convolutional" else 1
    assert [entry["kind"] for entry in trace["attention"]] == ["cross"] * layers
    assert Path(f"figures-{kind}/heat-map.png").stat().st_size > 0
    links = run(f"align runs/{kind} --source test.ro --target test.en", capsys)
    assert links.count("\n") == 2
    run(f"translate runs/{kind} --check {WORDS[0]}", capsys)


def test_without_attention_there_is_nothing_to_draw_or_align(place: Path, capsys: Capture) -> None:
    told = refused("align runs/lstm --source test.ro --target test.en", capsys)
    assert "model.attention = none has none" in told
    run(f"inspect runs/lstm {WORDS[0]} --output figures-lstm", capsys)
    trace = json.loads(Path("figures-lstm/trace.json").read_text())
    assert trace["attention"] == []
    assert len(trace["log_probabilities"]) == len(trace["target_tokens"])
    assert not Path("figures-lstm/heat-map.png").exists()


def test_what_is_for_transformers_is_refused_in_one_line(place: Path, capsys: Capture) -> None:
    for name in ("ctranslate2", "onnx", "html", "marian"):
        told = refused(f"export runs/gru --format {name} --output copy", capsys)
        assert "kind gru" in told or "pip install" in told
        assert not Path("copy").exists()
    told = refused(f"translate runs/gru --dtype int8 {WORDS[0]}", capsys)
    assert "leave it out" in told
    told = refused(f"{CORPUS} --init-from runs/gru --start.lora-rank 2 --run-dir runs/no", capsys)
    assert "an adapter is for the matrices of a Transformer" in told
    told = refused("adapt runs/gru", capsys)
    assert "the kind gru; follow the corrections with translate --corrections" in told
    told = refused(f"{CORPUS} --init-from runs/gru --model.heads 2 --run-dir runs/no", capsys)
    assert "of the kind gru, which has none" in told
    told = refused(f"{CORPUS} --init-from runs/gru --model.kind lstm --run-dir runs/no", capsys)
    assert "model.kind = lstm" in told
    assert not Path("runs/no").exists()


@pytest.mark.slow
def test_a_predecessor_is_fine_tuned_like_any_other(place: Path, capsys: Capture) -> None:
    flags = "--training.steps 4 --training.validate-every 4 --training.threads 1"
    run(f"{CORPUS} --init-from runs/gru {flags} --run-dir runs/tuned", capsys)
    config = json.loads(Path("runs/tuned/model/config.json").read_text())
    assert config["architecture"]["kind"] == "gru"


@pytest.mark.slow
def test_plan_reckons_and_doctor_examines(place: Path, capsys: Capture) -> None:
    told = run(f"plan --source train.ro --target train.en {SIZES} {KINDS['gru']}", capsys)
    assert "6 updates" in told
    capsys.readouterr()
    assert main(["doctor", "runs/gru"]) in (0, 1)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_change_nothing_to_the_bit(place: Path, kind: str) -> None:
    translator = Translator.load(f"runs/{kind}")
    texts = ["unu", "doi trei patru cinci unu", "trei trei"]
    together = translator.translate(texts, batch_invariant=True, n_best=2)
    alone = [translator.translate([t], batch_invariant=True, n_best=2)[0] for t in texts]
    assert together == alone


@pytest.mark.slow
def test_the_page_is_told_what_it_shows(place: Path) -> None:
    for kind in ("gru", "lstm"):
        folder = Path(f"runs/{kind}")
        looker = Looker([Translator.load(folder)], [folder])
        assert looker.answer("about", {})["architecture"]["kind"] == kind
        (part,) = looker.answer("translation", {"text": "unu doi"})["parts"]
        assert len(part["alignment"]) == len(part["target_tokens"])
        assert looker.answer("tree", {"text": "unu doi"})
        assert looker.answer("checkpoint", {"text": "unu", "step": 3})["step"] == 3
        with pytest.raises(ModelError, match="no Transformer of this package"):
            looker.answer("steps", {"text": "unu doi"})


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ("--model.attention dot", 'model.attention = "dot" is for model.kind rnn or lstm or gru'),
        ("--model.kind convolutional --model.attention none", "leave it out"),
        (
            "--model.kind gru --model.heads 4",
            "model.heads = 4 is for model.kind transformer or encoder or decoder, not gru",
        ),
        ("--model.kind lstm --model.norm pre", "model.norm"),
        ("--model.kind gru --model.kernel-width 3", "model.kernel_width = 3 is for"),
        ("--model.kind convolutional --model.kernel-width 4", "take an odd number"),
        ("--model.kind gru --model.attention loud", "one of additive, dot, none"),
        ("--model.kind gpt", "one of transformer, rnn, lstm, gru, convolutional"),
    ],
)
def test_sizes_that_a_kind_has_not_are_refused_before_anything_is_written(
    place: Path, capsys: Capture, flags: str, told: str
) -> None:
    assert told in refused(f"{CORPUS} {flags} --run-dir runs/never", capsys)
    assert not Path("runs/never").exists()


@pytest.mark.slow
@pytest.mark.parametrize("flags", [KINDS["rnn"], KINDS["lstm"], KINDS["convolutional"]])
def test_it_learns_to_copy_what_it_has_not_seen(place: Path, capsys: Capture, flags: str) -> None:
    dice = random.Random(2)
    lines = dict.fromkeys(" ".join(dice.choices(WORDS, k=dice.randint(1, 5))) for _ in range(900))
    for side in ("in", "out"):
        Path(f"copy.{side}").write_text("".join(f"{line}\n" for line in lines))
    asked = (
        "train --source copy.in --target copy.out --model.preset tiny --model.d-model 64 "
        "--training.steps 160 --training.validate-every 160 --training.peak-learning-rate 0.003 "
        f"--training.warmup-steps 30 --training.threads 1 --run-dir runs/copy --fresh --json {flags}"
    )
    exact = json.loads(run(asked, capsys))["validation"]["exact"]
    assert exact > (8 if "none" in flags else 70)
