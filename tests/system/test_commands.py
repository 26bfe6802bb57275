"""Every command once, on a corpus that a child could translate: what comes out, and that it belongs together."""

import io
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from small_runs import weights_of

from interlingua.cli import main
from interlingua.config_files import load_config
from interlingua.training import objective

Capture = pytest.CaptureFixture[str]

NUMBERS = {"unu": "one", "doi": "two", "trei": "three", "patru": "four", "cinci": "five"}
PAIRS = [
    (f"{a} {b} {c}", f"{NUMBERS[a]} {NUMBERS[b]} {NUMBERS[c]}")
    for a in NUMBERS
    for b in NUMBERS
    for c in NUMBERS
]
TRAIN = (
    "train --source train.ro --target train.en --model.encoder-layers 1 --model.decoder-layers 1 "
    "--model.d-model 16 --model.d-ff 16 --model.heads 2 --training.threads 1 --training.steps 6 "
    "--training.validate-every 3 --training.validate-sentences 4 --training.peak-learning-rate 0.025 --training.warmup-steps 100 "
    "--training.schedule inverse-sqrt --model.dropout 0.3"
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a corpus and a trained run ``runs/ro-en``, current while these tests run."""
    folder = tmp_path_factory.mktemp("commands")
    before = Path.cwd()
    os.chdir(folder)
    Path("train.ro").write_text("".join(f"{source}\n" for source, _ in PAIRS))
    Path("train.en").write_text("".join(f"{target}\n" for _, target in PAIRS))
    Path("test.ro").write_text("unu doi\n\ntrei patru\n")
    Path("test.en").write_text("one two\nnothing\nthree four\n")
    assert main(TRAIN.split()) == 0
    yield folder
    os.chdir(before)


def run(command: str, capsys: Capture) -> str:
    """Run a command that must succeed, and return what it prints."""
    capsys.readouterr()
    status = main(command.split(" "))
    output = capsys.readouterr()
    assert status == 0, output.err
    return output.out


def test_training_leaves_a_run_that_explains_itself(place: Path) -> None:
    names = {path.name for path in Path("runs/ro-en").iterdir()}
    assert {"config.toml", "corpus.lock", "environment.json", "metrics.jsonl", "model"} <= names
    config = load_config(Path("runs/ro-en/config.toml"))
    assert config.corpus.source_lang == "ro"
    assert config.training.steps == 6
    assert config.model.d_model == 16


def test_the_same_command_again_continues_where_it_was(place: Path, capsys: Capture) -> None:
    found = json.loads(run(f"{TRAIN} --json", capsys))
    assert found["steps"] == 6
    assert found["model_dir"] == "runs/ro-en/model"
    assert found["validation"].keys() >= {"loss", "bleu", "chrf", "exact"}
    lines = Path("runs/ro-en/metrics.jsonl").read_text().splitlines()
    assert max(json.loads(line).get("step", 0) for line in lines) == 6


def test_a_saved_configuration_can_be_trained_from_again(place: Path, capsys: Capture) -> None:
    assert "next: interlingua translate" in run("train runs/ro-en/config.toml", capsys)


def test_another_seed_begins_with_other_weights(place: Path, capsys: Capture) -> None:
    for seed in ("1", "2", "1"):
        flags = f"--training.seed {seed} --training.steps 1 --training.peak-learning-rate 1e-9"
        run(f"{TRAIN} {flags} --run-dir runs/seed-{seed} --fresh", capsys)
    again, one, two = (weights_of(f"runs/seed-{name}") for name in ("1", "1.1", "2"))
    for name, tensor in one.items():
        assert torch.equal(tensor, again[name])
        if tensor.dim() > 1:
            assert (tensor - two[name]).abs().max() > 0.01, name


def test_plain_training_takes_no_kernel(
    place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def note(*_: object, **__: object) -> None:
        asked.append(1)
        raise AssertionError("a kernel was asked")

    for name in ("packed_loss", "projected_cross_entropy"):
        monkeypatch.setattr(objective, name, note)
    run(f"{TRAIN} --training.plain true --run-dir runs/plain", capsys)
    environment = json.loads(Path("runs/plain/environment.json").read_text())
    assert environment["kernels"] == "plain references"
    assert not asked
    assert main(f"{TRAIN} --run-dir runs/fast".split()) != 0
    assert asked


def test_fresh_keeps_the_earlier_run_under_another_name(place: Path, capsys: Capture) -> None:
    command = f"{TRAIN} --run-dir runs/other --training.steps 1"
    run(command, capsys)
    found = json.loads(run(f"{command} --fresh --json", capsys))
    assert any(reason.startswith("tokenization.kind = ") for reason in found["chosen"])
    assert Path("runs/other.1/model").is_dir()
    assert Path("runs/other/model").is_dir()
    again = run("train runs/other.1/config.toml --json", capsys)
    assert Path(json.loads(again)["run_dir"]).name == "other.1"


def test_what_bleu_a_text_should_come_to_is_said_before_and_after(
    place: Path, capsys: Capture
) -> None:
    draw = random.Random(1)
    words = [a + b + c for a in "bdfgklmnprst" for b in ("a", "era", "ilo", "ont") for c in "nmst"]
    phrases = [" ".join(words[4 * n : 4 * n + 4]) for n in range(len(words) // 4)]
    lines = [" ".join([draw.choice(phrases), *draw.choices(words, k=4)]) for _ in range(700)]
    for side in ("ro", "en"):
        Path(f"many.{side}").write_text("".join(f"{line}\n" for line in lines))
    many = TRAIN.replace("train.", "many.").replace("train ", "", 1) + " --run-dir runs/many"
    planned = json.loads(run(f"plan {many} --json", capsys))
    assert 0 < planned["bleu"]["low"] < planned["bleu"]["high"]
    assert "was expected of this text" in run(f"train {many}", capsys)
    found = json.loads(run(f"train {many} --json", capsys))  # the text is not read again
    assert found["expected"] == planned["bleu"]
    few = json.loads(run(f"{TRAIN} --json", capsys))
    assert few["expected"] is None


def test_lines_come_out_as_many_as_go_in(place: Path, capsys: Capture) -> None:
    lines = run("translate runs/ro-en --input test.ro", capsys).split("\n")
    assert len(lines) == 4
    assert lines[1] == lines[3] == ""
    run("translate runs/ro-en/model --input test.ro --output out.txt", capsys)
    assert Path("out.txt").read_text() == "\n".join(lines)
    alone = run("translate runs/ro-en --beam-size 4 -- -unu", capsys)
    assert alone.count("\n") == 1


def test_a_hyphen_is_standard_input(
    place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "unu doi\n\n"
    command = [sys.executable, "-m", "interlingua", "translate", "runs/ro-en"]
    told = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert told.stdout.count("\n") == 2
    for typed in ("--input - --output -", "-"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert run(f"translate runs/ro-en {typed}", capsys) == told.stdout


def test_n_best_and_json_tell_scores(place: Path, capsys: Capture) -> None:
    ranked = run("translate runs/ro-en unu doi --n-best 3", capsys).splitlines()
    assert [line.split(" ||| ")[0] for line in ranked] == ["0", "0", "0", "1", "1", "1"]
    scores = [float(line.split(" ||| ")[2]) for line in ranked[:3]]
    assert scores == sorted(scores, reverse=True)
    found = json.loads(run("translate runs/ro-en unu --n-best 2 --json", capsys))
    assert found["source"] == "unu"
    assert [each["text"] for each in found["translations"]] == [
        line.split(" ||| ")[1] for line in ranked[:2]
    ]


def test_no_flag_swallows_the_text_behind_it(place: Path, capsys: Capture) -> None:
    alone = run("translate runs/ro-en unu", capsys)
    assert run("translate runs/ro-en --ensemble runs/ro-en/model unu", capsys) == alone
    twice = "--ensemble runs/ro-en/model --ensemble runs/ro-en"
    assert run(f"translate runs/ro-en {twice} unu doi", capsys).count("\n") == 2


def test_groups_of_a_beam_give_no_translation_twice(place: Path, capsys: Capture) -> None:
    ranked = run("translate runs/ro-en unu --groups 3 --n-best 3 --json", capsys)
    found = [tuple(each["tokens"]) for each in json.loads(ranked)["translations"]]
    assert len(set(found)) == len(found) > 1


def test_what_a_check_finds_is_told_without_json_too(place: Path, capsys: Capture) -> None:
    command = ["translate", "runs/ro-en", "unu", "--prefix", "one one one one", "--check"]
    assert main(command) == 0
    assert "1 translation with the same words again and again" in capsys.readouterr().err
    assert main(command[:-1]) == 0
    assert "again and again" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("form", "sign"), [("text", "95 %"), ("markdown", "| --"), ("latex", r"\toprule")]
)
def test_scores_are_written_for_every_reader(
    place: Path, capsys: Capture, form: str, sign: str
) -> None:
    command = "evaluate runs/ro-en --source test.ro --reference test.en --metrics bleu,chrf"
    found = run(f"{command} --format {form}", capsys)
    assert sign in found
    assert "BLEU" in found


def test_evaluation_compares_models_and_keeps_the_translations(
    place: Path, capsys: Capture
) -> None:
    command = "evaluate runs/ro-en --source test.ro --reference test.en test.en --output o.txt"
    found = json.loads(run(f"{command} --against runs/ro-en/model --json", capsys))
    assert found["sentences"] == 3
    assert found["references"] == 2
    assert {each["difference"] for each in found["comparisons"]} == {0.0}
    assert Path("o.txt").read_text() == run("translate runs/ro-en --input test.ro", capsys)
    several = "evaluate runs/ro-en runs/ro-en/model --source test.ro --reference test.en --json"
    assert json.loads(run(several, capsys))["runs"] == 2


def test_a_text_of_another_language_by_its_name_is_told_and_scored(
    place: Path, capsys: Capture
) -> None:
    Path("test.de").write_bytes(Path("test.ro").read_bytes())
    Path("test.fr").write_bytes(Path("test.en").read_bytes())
    test = "--source test.de --reference test.fr test.en"
    assert main(f"evaluate runs/ro-en {test}".split()) == 0
    told = capsys.readouterr().err
    assert "test.de: is in de, by its name, and runs/ro-en reads ro" in told
    assert "test.fr: is in fr, by its name, and runs/ro-en writes en" in told
    assert "test.en" not in told
    systems = "runs/ro-en other=test.en --source test.de --reference test.fr"
    assert main(f"compare {systems}".split()) == 0
    told = capsys.readouterr().err
    assert "test.de: is in de, by its name, and runs/ro-en reads ro" in told
    assert "test.fr: is in fr, by its name, and runs/ro-en writes en" in told


def test_a_source_that_is_cut_is_told(place: Path, capsys: Capture) -> None:
    Path("long.ro").write_text("unu doi\n" + "trei " * 300 + "\n")
    Path("long.en").write_text("one two\nthree\n")
    for command in (
        "translate runs/ro-en --input long.ro --beam-size 1",
        "evaluate runs/ro-en --source long.ro --reference long.en --beam-size 1",
    ):
        assert main(command.split()) == 0
        told = capsys.readouterr().err
        assert "1 source is longer than the 256 tokens that the model takes" in told


def test_an_output_that_cannot_be_written_is_found_before_anything_is_translated(
    place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def translate(*_: object, **__: object) -> None:
        pytest.fail("translated first")

    monkeypatch.setattr("interlingua.translator.Translator.translate", translate)
    command = "evaluate runs/ro-en --source test.ro --reference test.en --output test.ro/out"
    assert main(command.split()) == 6
    assert "test.ro/out" in capsys.readouterr().err


def test_a_sentence_is_drawn_as_png_and_svg(place: Path, capsys: Capture) -> None:
    files = json.loads(run("inspect runs/ro-en unu --output figures --json", capsys))["files"]
    assert {Path(name).suffix for name in files} >= {".png", ".svg"}
    assert all(Path(name).stat().st_size > 0 for name in files)


def test_prepare_makes_what_training_then_uses(place: Path, capsys: Capture) -> None:
    command = TRAIN.replace("train ", "prepare ", 1) + " --run-dir runs/prepared"
    found = json.loads(run(f"{command} --json", capsys))
    assert found["training_pairs"] + found["validation_pairs"] == len(PAIRS)
    assert not Path("runs/prepared/model").exists()
    pieces = run("tokenize runs/prepared unu", capsys)
    made = {path: path.read_bytes() for path in Path("runs/prepared/tokenizer").iterdir()}
    run(TRAIN + " --run-dir runs/prepared --training.steps 1", capsys)
    assert {path: path.read_bytes() for path in made} == made
    assert run("tokenize runs/prepared unu", capsys) == pieces


def test_tokens_and_ids_belong_together(place: Path, capsys: Capture) -> None:
    found = json.loads(run("tokenize runs/ro-en --input test.ro --json", capsys).splitlines()[0])
    assert found["text"] == "unu doi"
    assert len(found["tokens"]) == len(found["ids"])
    assert (
        run("tokenize runs/ro-en --input test.ro", capsys).splitlines()[0].split(" ")
        == found["tokens"]
    )
    ids = run("tokenize runs/ro-en --ids --side target --input test.ro", capsys).split("\n")
    assert ids[1] == ""
    assert all(number.isdigit() for number in ids[0].split(" "))


def test_the_mean_of_checkpoints_becomes_the_model(place: Path, capsys: Capture) -> None:
    run(f"{TRAIN} --run-dir runs/mean", capsys)
    found = json.loads(run("average runs/mean --last 2 --json", capsys))
    assert found == {"model": "runs/mean/model", "averaged": 2}
    assert run("translate runs/mean unu", capsys).count("\n") == 1


def test_a_plan_tells_time_memory_and_disk_and_leaves_nothing(place: Path, capsys: Capture) -> None:
    command = TRAIN.replace("train ", "plan ", 1) + " --run-dir runs/planned"
    found = json.loads(run(f"{command} --json", capsys))
    assert found["steps"] == 6
    assert min(found["memory"], found["disk"]) > 0
    assert not Path("runs/planned").exists()


def test_merges_of_subword_nmt_are_applied_byte_for_byte(place: Path, capsys: Capture) -> None:
    data = os.environ.get("INTERLINGUA_DATA")
    if not data:
        pytest.skip("INTERLINGUA_DATA is not set: no files of subword-nmt to compare with")
    folder = Path(data) / "subword"
    run(f"tokenize {folder / 'bpe.ref'} --input {folder / 'corpus.en'} --output applied", capsys)
    assert Path("applied").read_bytes() == (folder / "corpus.bpe.ref.en").read_bytes()


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)],
)
def test_a_stopped_run_has_a_model_and_goes_on(
    place: Path, capsys: Capture, number: int, status: int
) -> None:
    folder = f"runs/stopped-{status}"
    command = f"{TRAIN} --run-dir {folder} --training.steps 1000000 --training.patience 1000000"
    process = subprocess.Popen(
        [sys.executable, "-m", "interlingua", *command.split()],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "validation loss" in line:
            break
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == status, err
    assert "Traceback" not in err
    assert "the same command again continues from here (--fresh would begin anew)" in out
    assert run(f"translate {folder} unu", capsys).count("\n") == 1
    done = Path(folder, "metrics.jsonl").read_text().splitlines()
    steps = int(json.loads(done[-1])["step"]) + 3
    again = command.replace("--training.steps 1000000", f"--training.steps {steps} --json")
    assert json.loads(run(again, capsys))["steps"] >= steps
